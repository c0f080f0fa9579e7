import { access } from "@/api/access.gen.ts";
import { type ApiRow, call, setCsrfToken } from "@/api/client.ts";

type Role = "owner" | "admin" | "manager" | "member" | null;

export interface Workspace {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  /** Role of the user there; null for keys of services. */
  readonly role: Role;
}

/** Who signed in, as `GET /console/session` says it (docs/console.md). */
export interface Principal {
  readonly type: "admin_key" | "workspace_key" | "user_key" | "user";
  readonly organisation_id: string;
  readonly organisation: { readonly id: string; readonly slug: string; readonly name: string };
  /** Null for callers of the whole organisation. */
  readonly workspace_id: string | null;
  readonly role: Role;
  readonly scopes: readonly string[];
  readonly user: { readonly id: string; readonly email: string } | null;
  readonly key: { readonly id: string; readonly name: string } | null;
  readonly workspaces: readonly Workspace[];
}

export interface Session {
  readonly csrf_token: string;
  readonly expires_at: string;
  readonly principal: Principal;
}

/** Reads the session this browser has; throws an `ApiError` with status 401 where it has none. */
export async function readSession(): Promise<Session> {
  // The shape is that of `GET /console/session` (docs/console.md).
  const session = (await call("GET", "/console/session")) as Session;
  setCsrfToken(session.csrf_token);
  return session;
}

/** How people sign in beside keys, as `GET /console/sign-in/options` says it (docs/console.md). */
interface SignInOptions {
  readonly methods: readonly string[];
  readonly asks_organisation: boolean;
}

export async function readSignInOptions(): Promise<SignInOptions> {
  return (await call("GET", "/console/sign-in/options")) as SignInOptions;
}

/** Exchanges a gateway key for a session. The key is not stored. */
export async function signIn(key: string): Promise<Session> {
  const session = (await call("POST", "/console/session", { body: { key } })) as Session;
  setCsrfToken(session.csrf_token);
  return session;
}

/** Ends the session on the gateway and forgets its token. */
export async function signOut(): Promise<void> {
  await call("DELETE", "/console/session");
  setCsrfToken(undefined);
}

/**
 * Whether a principal may call a row. The gateway decides again on each call: this only chooses what to show.
 *
 * @param row Method and path as in the OpenAPI document, for example `POST /v1/configs`.
 */
export function mayCall(principal: Principal, row: ApiRow): boolean {
  const wanted = access[row];
  if (wanted === undefined) return false;
  const { keys, scopes } = wanted;
  if (keys !== "any" && (keys === "admin") !== (principal.workspace_id === null)) return false;
  return scopes.length === 0 || scopes.some((scope) => principal.scopes.includes(scope));
}
