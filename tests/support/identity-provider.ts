import type { IncomingMessage, ServerResponse } from "node:http";
import { base64url, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { startServer } from "./upstream.ts";

interface Changes {
  /** Claims of the id token, over those of `ada@example.com`. */
  claims?: object;
  nonce?: string;
  /** Asks the user before it answers; else it signs in whoever comes. */
  asks?: boolean;
}

/** What a code stands for until it is exchanged. */
interface Grant {
  nonce: string;
  challenge: string;
}

async function digestOf(verifier: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  return base64url.encode(new Uint8Array(bytes));
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return new URLSearchParams(text);
}

/** A page with a form that sends what it got once more, with the user's decision. */
function consentPage(asked: URLSearchParams): string {
  const inputs = [...asked].map(
    ([name, value]) => `<input type=hidden name=${name} value="${encodeURIComponent(value)}">`,
  );
  const buttons = ["allow", "refuse"].map((decision) => `<button name=decision value=${decision}>${decision}</button>`);
  return `<!doctype html><title>Consent</title><link rel=icon href=data:,><form action=/decide>${inputs.join("")}${buttons.join("")}</form>`;
}

/** An identity provider: OpenID Connect with authorization code and PKCE. A code works once. */
export async function startIdentityProvider(changes: Changes) {
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
  const jwk: JWK = { ...(await exportJWK(publicKey)), kid: "one", alg: "RS256", use: "sig" };
  const grants = new Map<string, Grant>();
  const secrets: (string | undefined)[] = [];
  let url = "";
  const idToken = (nonce: string) =>
    new SignJWT({
      iss: url,
      aud: "gateway",
      sub: "subject-1",
      nonce: changes.nonce ?? nonce,
      email: "ada@example.com",
      ...changes.claims,
    })
      .setProtectedHeader({ alg: "RS256", kid: "one" })
      .setIssuedAt()
      .setExpirationTime("5m")
      .sign(privateKey);
  const answer = (response: ServerResponse, asked: URLSearchParams, result: Record<string, string>) => {
    const query = new URLSearchParams({ ...result, state: asked.get("state") ?? "" });
    response.writeHead(302, { location: `${asked.get("redirect_uri")}?${query}` }).end();
  };
  const allow = (response: ServerResponse, asked: URLSearchParams) => {
    const code = crypto.randomUUID();
    grants.set(code, { nonce: asked.get("nonce") ?? "", challenge: asked.get("code_challenge") ?? "" });
    answer(response, asked, { code });
  };
  const exchange = async (request: IncomingMessage): Promise<object | undefined> => {
    secrets.push(request.headers.authorization);
    const form = await readForm(request);
    const code = form.get("code") ?? "";
    const grant = grants.get(code);
    grants.delete(code);
    if (grant?.challenge !== (await digestOf(form.get("code_verifier") ?? ""))) return undefined;
    return { access_token: "unused", token_type: "Bearer", id_token: await idToken(grant.nonce) };
  };
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://idp.test");
    if (pathname === "/authorize") {
      if (changes.asks !== true) return allow(response, searchParams);
      response.writeHead(200, { "content-type": "text/html" }).end(consentPage(searchParams));
      return;
    }
    if (pathname === "/decide") {
      const asked = new URLSearchParams([...searchParams].map(([name, value]) => [name, decodeURIComponent(value)]));
      if (asked.get("decision") === "allow") return allow(response, asked);
      return answer(response, asked, { error: "access_denied" });
    }
    const metadata = {
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      jwks_uri: `${url}/jwks`,
    };
    const body = pathname === "/jwks" ? { keys: [jwk] } : pathname === "/token" ? await exchange(request) : metadata;
    response.writeHead(body === undefined ? 400 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(body ?? { error: "invalid_grant" }));
  };
  const server = await startServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  url = server.url;
  return { url, secrets, close: () => server.close() };
}
