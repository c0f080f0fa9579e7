import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { startServer } from "./upstream.ts";

/** An identity provider that signs in whoever comes. */
export async function startIdentityProvider(changes: { claims?: object; nonce?: string }) {
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
  const jwk: JWK = { ...(await exportJWK(publicKey)), kid: "one", alg: "RS256", use: "sig" };
  const nonces = new Map<string, string>();
  const secrets: (string | undefined)[] = [];
  let url = "";
  const idToken = (code: string) =>
    new SignJWT({
      iss: url,
      aud: "gateway",
      sub: "subject-1",
      nonce: changes.nonce ?? nonces.get(code) ?? "",
      email: "ada@example.com",
      ...changes.claims,
    })
      .setProtectedHeader({ alg: "RS256", kid: "one" })
      .setIssuedAt()
      .setExpirationTime("5m")
      .sign(privateKey);
  const server = await startServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://idp.test");
    const serve = async () => {
      if (pathname === "/authorize") {
        const code = crypto.randomUUID();
        nonces.set(code, searchParams.get("nonce") ?? "");
        const answer = new URLSearchParams({ code, state: searchParams.get("state") ?? "" });
        response.writeHead(302, { location: `${searchParams.get("redirect_uri")}?${answer}` }).end();
        return;
      }
      let body: unknown = {
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/jwks`,
      };
      if (pathname === "/jwks") body = { keys: [jwk] };
      if (pathname === "/token") {
        secrets.push(request.headers.authorization);
        let text = "";
        for await (const chunk of request) text += String(chunk);
        const code = new URLSearchParams(text).get("code") ?? "";
        body = { access_token: "unused", token_type: "Bearer", id_token: await idToken(code) };
      }
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    serve().catch(() => response.destroy());
  });
  url = server.url;
  return { url, secrets, close: () => server.close() };
}
