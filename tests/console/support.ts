import { readJson, type TestGateway } from "../support/gateway.ts";

/** A session as the gateway shows it. */
export interface ShownSession {
  object: string;
  csrf_token: string;
  expires_at: string;
  principal: {
    type: string;
    organisation_id: string;
    workspace_id: string | null;
    user: { id: string; email: string; role: string } | null;
    key: { id: string; name: string } | null;
    role: string | null;
    scopes: string[];
    workspaces: { id: string; slug: string; name: string; role: string | null }[];
  };
}

/** What a page of the console sends besides its own headers. */
export const sameOrigin = { "sec-fetch-site": "same-origin", origin: "http://gateway.test" };

type Fetched = Pick<TestGateway, "gateway">;

/** A browser that signed in. */
export interface SignedIn {
  readonly cookie: string;
  readonly shown: ShownSession;
  /** Calls a route as a page of the console does. */
  call(route: string, init?: { body?: unknown; headers?: Record<string, string> }): Promise<Response>;
}

/** The cookie that a reply sets, as requests send it. */
export function cookieOf(response: Response): string {
  return (response.headers.get("set-cookie") ?? "").replace(/;.*/, "");
}

/** Calls a route with headers, as any client. */
export function send(
  { gateway }: Fetched,
  route: string,
  {
    body,
    headers = {},
    remoteAddress = "192.0.2.7",
  }: {
    body?: unknown;
    headers?: Record<string, string>;
    remoteAddress?: string;
  } = {},
): Promise<Response> {
  const [method = "GET", path = "/"] = route.split(" ");
  const request = new Request(`http://gateway.test${path}`, {
    method,
    headers: { ...(body !== undefined && { "content-type": "application/json" }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return gateway.fetch(request, { remoteAddress });
}

/** A page's call with the cookie and the token of its session. */
export function asPage(gateway: Fetched, cookie: string, token: string): SignedIn["call"] {
  return (route, { body, headers = {} } = {}) =>
    send(gateway, route, { body, headers: { ...sameOrigin, cookie, "x-gateway-csrf": token, ...headers } });
}

let address = 0;

/** Signs in with a key. */
export async function signIn(gateway: Fetched, key: string): Promise<SignedIn> {
  // one address may sign in only so often
  const remoteAddress = `198.51.100.${++address % 250}`;
  const response = await send(gateway, "POST /console/session", { body: { key }, headers: sameOrigin, remoteAddress });
  if (response.status !== 200) throw new Error(`Answered ${response.status}: ${await response.text()}`);
  const cookie = cookieOf(response);
  const shown = await readJson<ShownSession>(response);
  return { cookie, shown, call: asPage(gateway, cookie, shown.csrf_token) };
}

/** A refusal as text: status and code. */
export async function problemOf(response: Promise<Response>): Promise<string> {
  const answer = await response;
  const text = await answer.text();
  if (answer.status < 400) return `${answer.status}`;
  const { error } = JSON.parse(text) as { error: { code: string } };
  return `${answer.status} ${error.code}`;
}
