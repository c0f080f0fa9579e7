// A browser, a client and a user for tests of the authorization server.

import { createHash } from "node:crypto";
import type { McpServer } from "../../src/mcp/registry/mcp-server.ts";
import { call, done } from "../support/control.ts";
import { readJson, type TestGateway } from "../support/gateway.ts";
import { addPerson, type List, type Person } from "../support/people.ts";
import { createMcpGateway, mcpServer, serversOf } from "./support.ts";

/** Public address of test gateways. */
export const origin = "http://gateway.test";
export const resource = `${origin}/m/everything/mcp`;
export const redirectUri = "http://127.0.0.1:9000/callback";

/** A form of a page. */
export interface Form {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
}

function unescapeHtml(text: string): string {
  const signs: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => signs[name] ?? "");
}

/** Forms of a page with their hidden fields. */
export function formsOf(page: string): Form[] {
  return [...page.matchAll(/<form method="post" action="([^"]+)">(.*?)<\/form>/gs)].map(
    ([, action = "", inner = ""]) => ({
      action: unescapeHtml(action),
      fields: Object.fromEntries(
        [...inner.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)].map(
          ([, name = "", value = ""]) => [name, unescapeHtml(value)],
        ),
      ),
    }),
  );
}

/** What a page links to. */
export function linkOf(page: string): string {
  return unescapeHtml(/<a class="button" href="([^"]+)"/.exec(page)?.[1] ?? "");
}

/** A browser: it holds cookies, and follows no redirect by itself. */
export class TestBrowser {
  readonly cookies = new Map<string, string>();
  readonly #fetch: (request: Request) => Promise<Response>;

  readonly #base: string;

  constructor({ gateway }: { gateway: { fetch(request: Request): Promise<Response> } }, base = origin) {
    this.#fetch = (request) => gateway.fetch(request);
    this.#base = base;
  }

  async send(address: string, init: { method?: string; headers?: Record<string, string>; body?: string } = {}) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { ...(cookie !== "" && { cookie }), ...init.headers };
    const response = await this.#fetch(new Request(new URL(address, this.#base), { ...init, headers }));
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(response.headers.get("set-cookie") ?? "") ?? [];
    if (name !== undefined && value !== undefined) this.cookies.set(name, value);
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  submit({ action, fields }: Form, more: Readonly<Record<string, string>> = {}, headers: Record<string, string> = {}) {
    return this.send(action, {
      method: "POST",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        origin: this.#base,
        "sec-fetch-site": "same-origin",
        ...headers,
      },
      body: new URLSearchParams({ ...fields, ...more }).toString(),
    });
  }
}

export type Page = Awaited<ReturnType<TestBrowser["send"]>>;

/** The first form of a page. */
export function formOf(page: Pick<Page, "text">): Form {
  const [form] = formsOf(page.text);
  if (!form) throw new Error(`The page has no form: ${page.text.replace(/<style.*?<\/style>/s, "")}`);
  return form;
}

export const verifier = "a-verifier-of-tests-that-is-long-enough-0123456789";
export const challenge = createHash("sha256").update(verifier).digest("base64url");

/** The address at which a client asks. */
export function authorizeAddress(clientId: string, changes: Readonly<Record<string, string | null>> = {}): string {
  const parameters = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: challenge,
    code_challenge_method: "S256",
    resource,
    scope: "mcp",
    state: "the state",
    ...changes,
  };
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== null);
  return `${origin}/m/oauth/authorize?${new URLSearchParams(given)}`;
}

let registered = 0;

/** A gateway with one MCP server and one user. */
export interface OauthStack extends TestGateway {
  readonly person: Person;
  readonly servers: ReturnType<typeof serversOf>;
  readonly workspaceId: string;
  post(path: string, form: Readonly<Record<string, string>>, headers?: Record<string, string>): Promise<Response>;
  register(metadata?: object): Promise<Record<string, string>>;
}

/** The default workspace of a gateway. */
export async function defaultWorkspaceOf(gateway: Pick<TestGateway, "gateway">): Promise<string> {
  const { data } = await done(call<List<{ id: string }>>(gateway, "GET /admin/workspaces"));
  return data[0]?.id ?? "";
}

export const userScopes = ["mcp.invoke", "mcp_servers.list", "mcp_servers.read", "mcp_servers.update"];

export async function createOauthStack(
  server: McpServer = mcpServer("http://127.0.0.1:9/mcp"),
  options: Parameters<typeof createMcpGateway>[1] = {},
): Promise<OauthStack> {
  const servers = serversOf(server);
  const gateway = await createMcpGateway(servers, { mcp: { baseUrl: origin }, ...options });
  const workspaceId = await defaultWorkspaceOf(gateway);
  const workspaces = [{ id: workspaceId, role: "member" }];
  const person = await addPerson(gateway, "ada@example.com", { workspaces, scopes: userScopes });
  const post: OauthStack["post"] = (path, form, headers = {}) =>
    gateway.gateway.fetch(
      new Request(origin + path, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
        body: new URLSearchParams(form).toString(),
      }),
    );
  return {
    ...gateway,
    person,
    servers,
    workspaceId,
    post,
    async register(metadata = {}) {
      const body = JSON.stringify({ client_name: "A client", redirect_uris: [redirectUri], ...metadata });
      const headers = { "content-type": "application/json" };
      const request = new Request(`${origin}/m/oauth/register`, { method: "POST", headers, body });
      // one address may register few clients
      return readJson(await gateway.gateway.fetch(request, { remoteAddress: `192.0.2.${++registered % 250}` }));
    },
  };
}

/** Signs in and consents; the address that the client gets. */
export async function authorize(
  stack: Pick<OauthStack, "gateway" | "person">,
  clientId: string,
  {
    changes = {},
    browser = new TestBrowser(stack),
  }: { changes?: Record<string, string | null>; browser?: TestBrowser } = {},
): Promise<URL> {
  let page = await browser.send(authorizeAddress(clientId, changes));
  if (page.text.includes('name="method" value="key"')) {
    page = await browser.submit(formOf(page), { key: stack.person.key });
  }
  if (page.status === 200) page = await browser.submit(formOf(page), { decision: "allow" });
  return new URL(page.headers.get("location") ?? "", "http://no-redirect.test");
}

export interface Tokens {
  access_token: string;
  refresh_token: string;
  expires_in: number;
  token_type: string;
  scope: string;
  error?: string;
}

/** The form by which a client exchanges a code. */
export function codeForm(clientId: string, code: string): Record<string, string> {
  return {
    grant_type: "authorization_code",
    client_id: clientId,
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
    resource,
  };
}

/** Tokens of a new client, through the whole flow. */
export async function getTokens(stack: OauthStack, changes: Record<string, string | null> = {}) {
  const { client_id: clientId = "" } = await stack.register();
  const answer = await authorize(stack, clientId, { changes });
  const form = codeForm(clientId, answer.searchParams.get("code") ?? "");
  const response = await stack.post("/m/oauth/token", { ...form, resource: changes.resource ?? resource });
  return { clientId, form, tokens: await readJson<Tokens>(response) };
}

/** Calls an MCP server with a token. */
export function callServer(
  stack: Pick<TestGateway, "gateway">,
  token: string,
  {
    path = "/m/everything/mcp",
    body = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}',
    headers = {},
  } = {},
): Promise<Response> {
  return stack.gateway.fetch(
    new Request(origin + path, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
        ...headers,
      },
      body,
    }),
  );
}
