// An MCP server that asks for tokens, and the authorization server in front of it, on one loopback port.

import { createHash, randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { startServer } from "../support/upstream.ts";
import { formOf, linkOf, type OauthStack, TestBrowser } from "./oauth-support.ts";

/** What a test changes of the servers. */
export interface ProviderBehaviour {
  /** Changes the metadata of the authorization server. */
  metadata?: (document: Record<string, unknown>, base: string) => Record<string, unknown>;
  /** Changes the metadata of the MCP server. */
  resourceMetadata?: (document: Record<string, unknown>, base: string) => Record<string, unknown>;
  /** Answers a token request in place of the server. */
  token?: (form: URLSearchParams) => { status: number; body: unknown; delayMs?: number } | undefined;
  /** Parameters of the address the browser is sent back to. */
  answer?: (parameters: Record<string, string>) => Record<string, string>;
  /** It has no metadata of any kind, as servers of the revision 2025-03-26. */
  isOld?: boolean;
  /** Seconds a token is valid. */
  expiresIn?: number;
  /** The refresh token is replaced at each use, and an old one ends the grant. */
  rotates?: boolean;
  /** Answers 403 to calls of tools whose token lacks this scope. */
  wantsScope?: string;
}

/** A provider that runs. */
export interface Provider {
  readonly url: string;
  readonly issuer: string;
  readonly behaviour: ProviderBehaviour;
  /** Token requests as they came. */
  readonly tokenRequests: { form: URLSearchParams; authorization: string | undefined }[];
  /** Calls of the MCP server, with their headers. */
  readonly calls: { authorization: string | undefined; headers: Record<string, unknown>; method: string }[];
  readonly registrations: Record<string, unknown>[];
  /** Tokens that are valid. */
  readonly valid: Map<string, { scope: string }>;
  readonly revoked: string[];
  close(): Promise<void>;
}

const read = async (request: IncomingMessage): Promise<string> => {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
};

const json = (response: ServerResponse, value: unknown, status = 200, headers: Record<string, string> = {}) => {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(value));
};

/** A state of a provider and what answers for it. */
function createState(behaviour: ProviderBehaviour, base: () => string) {
  const codes = new Map<string, { challenge: string; redirectUri: string; scope: string; resource: string | null }>();
  const refreshTokens = new Map<string, { scope: string; isUsed: boolean }>();
  const state = {
    behaviour,
    tokenRequests: [] as Provider["tokenRequests"],
    calls: [] as Provider["calls"],
    registrations: [] as Record<string, unknown>[],
    valid: new Map<string, { scope: string }>(),
    revoked: [] as string[],
  };
  const issue = (scope: string, former?: string) => {
    const token = `access-${randomUUID()}`;
    state.valid.set(token, { scope });
    const refresh = former && !behaviour.rotates ? former : `refresh-${randomUUID()}`;
    refreshTokens.set(refresh, { scope, isUsed: false });
    return {
      access_token: token,
      token_type: "Bearer",
      expires_in: behaviour.expiresIn ?? 3_600,
      refresh_token: refresh,
      scope,
    };
  };
  const grants: Record<string, (form: URLSearchParams) => [number, unknown]> = {
    authorization_code(form) {
      const code = codes.get(form.get("code") ?? "");
      codes.delete(form.get("code") ?? "");
      const challenge = createHash("sha256")
        .update(form.get("code_verifier") ?? "")
        .digest("base64url");
      const isRight = code && code.challenge === challenge && code.redirectUri === form.get("redirect_uri");
      return isRight ? [200, issue(code.scope)] : [400, { error: "invalid_grant" }];
    },
    refresh_token(form) {
      const text = form.get("refresh_token") ?? "";
      const known = refreshTokens.get(text);
      if (!known || known.isUsed) {
        if (behaviour.rotates) state.valid.clear();
        return [400, { error: "invalid_grant" }];
      }
      if (behaviour.rotates) known.isUsed = true;
      return [200, issue(known.scope, text)];
    },
    client_credentials: (form) => [200, { ...issue(form.get("scope") ?? ""), refresh_token: undefined }],
  };
  const authorize = (query: URLSearchParams, response: ServerResponse) => {
    const code = randomUUID();
    codes.set(code, {
      challenge: query.get("code_challenge") ?? "",
      redirectUri: query.get("redirect_uri") ?? "",
      scope: query.get("scope") ?? "",
      resource: query.get("resource"),
    });
    const given = { code, state: query.get("state") ?? "", iss: base() };
    const parameters = behaviour.answer ? behaviour.answer(given) : given;
    response.writeHead(302, { location: `${query.get("redirect_uri")}?${new URLSearchParams(parameters)}` });
    response.end();
  };
  const token = async (request: IncomingMessage, response: ServerResponse) => {
    const form = new URLSearchParams(await read(request));
    state.tokenRequests.push({ form, authorization: request.headers.authorization });
    const special = behaviour.token?.(form);
    if (special?.delayMs) await new Promise((resolve) => setTimeout(resolve, special.delayMs));
    if (special && special.status !== 0) return json(response, special.body, special.status);
    const [status, body] = grants[form.get("grant_type") ?? ""]?.(form) ?? [400, { error: "unsupported_grant_type" }];
    return json(response, body, status, { "cache-control": "no-store" });
  };
  return { state, authorize, token };
}

/** Starts a provider. Its MCP server is at `/mcp`. */
export async function startProvider(behaviour: ProviderBehaviour = {}): Promise<Provider> {
  let url = "";
  const { state, authorize, token } = createState(behaviour, () => url);
  const challenge = () =>
    behaviour.isOld
      ? "Bearer"
      : `Bearer resource_metadata="${url}/.well-known/oauth-protected-resource/mcp", scope="tools"`;
  const callServer = async (request: IncomingMessage, response: ServerResponse) => {
    const message = JSON.parse((await read(request)) || "{}");
    const authorization = request.headers.authorization;
    state.calls.push({ authorization, headers: { ...request.headers }, method: message.method });
    const held = state.valid.get((authorization ?? "").replace("Bearer ", ""));
    if (!held) return json(response, {}, 401, { "www-authenticate": challenge() });
    const { wantsScope } = behaviour;
    if (wantsScope && message.method === "tools/call" && !held.scope.split(" ").includes(wantsScope)) {
      const header = `Bearer error="insufficient_scope", scope="${wantsScope}"`;
      return json(response, {}, 403, { "www-authenticate": header });
    }
    const content = [{ type: "text", text: authorization }];
    const result = message.method === "tools/call" ? { content } : { tools: [] };
    return json(response, { jsonrpc: "2.0", id: message.id, result: { resultType: "complete", ...result } });
  };
  const server = await startServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://provider.test");
    const serve = async () => {
      if (pathname === "/mcp") return callServer(request, response);
      if (pathname === "/authorize") return authorize(searchParams, response);
      if (pathname === "/token") return token(request, response);
      if (pathname === "/register") {
        state.registrations.push(JSON.parse(await read(request)));
        return json(response, { client_id: `client-${state.registrations.length}` }, 201);
      }
      if (pathname === "/revoke") {
        state.revoked.push(new URLSearchParams(await read(request)).get("token") ?? "");
        return json(response, {});
      }
      if (behaviour.isOld) return json(response, {}, 404);
      if (pathname === "/.well-known/oauth-protected-resource/mcp") {
        const document = { resource: `${url}/mcp`, authorization_servers: [url], scopes_supported: ["tools"] };
        return json(response, behaviour.resourceMetadata?.(document, url) ?? document);
      }
      if (pathname === "/.well-known/oauth-authorization-server") {
        const document = {
          issuer: url,
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
          registration_endpoint: `${url}/register`,
          revocation_endpoint: `${url}/revoke`,
          code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["none"],
          authorization_response_iss_parameter_supported: true,
        };
        return json(response, behaviour.metadata?.(document, url) ?? document);
      }
      return json(response, {}, 404);
    };
    serve().catch(() => response.destroy());
  });
  url = server.url;
  return { ...state, url, issuer: url, close: () => server.close() };
}

/** What the provider sends the browser back to. */
export async function signInAtProvider(address: string): Promise<string> {
  const response = await fetch(address, { redirect: "manual" });
  await response.body?.cancel();
  return response.headers.get("location") ?? "";
}

/** Connects the account of the user by the address of an answer. */
export async function connectAccount(
  { stack }: { stack: OauthStack },
  address: string,
  browser = new TestBrowser(stack),
) {
  let page = await browser.send(address);
  if (page.text.includes('value="key"')) page = await browser.submit(formOf(page), { key: stack.person.key });
  page = await browser.submit(formOf(page), { decision: "allow" });
  const back = await signInAtProvider(linkOf(page.text));
  return { browser, hop: page, back, page: await browser.send(back) };
}
