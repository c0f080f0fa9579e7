import { hasTokenForm, readClaims, readEmail, readText } from "../../auth/jwt-claims.ts";
import { noDefaults, type Principal } from "../../auth/principal.ts";
import { type CallerContext, type RequestContext, withCaller } from "../../context.ts";
import type { McpServer } from "../../control/mcp/mcp-server.ts";
import { AuthenticationError, PermissionError } from "../../errors.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import { sha256Hex } from "../../lib/hash.ts";

type Claims = Readonly<Record<string, unknown>>;

/** Where a server is, by organisation and slug; looked up again after a while. */
const places = new WeakMap<object, BoundedMap<string, { workspaceId: string | undefined; until: number }>>();
const placeMs = 30_000;

const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The organisation that a token names, else the only one. Until the token is verified, it only selects the server. */
async function organisationOf({ services }: RequestContext, token: string): Promise<string | undefined> {
  if (hasTokenForm(token)) {
    try {
      const named = readText(readClaims(token), "gateway_oid", "organisation_id");
      if (named !== null) return uuidForm.test(named) ? named.toLowerCase() : undefined;
    } catch {
      return undefined;
    }
  }
  return services.oauth.onlyOrganisation();
}

/** The server that a request names by its slug, in whatever workspace it is. */
async function locate(context: RequestContext, organisationId: string): Promise<McpServer | undefined> {
  const { services, params } = context;
  const slug = params.slug ?? "";
  const known = places.get(services) ?? new BoundedMap(10_000);
  places.set(services, known);
  const key = JSON.stringify([organisationId, slug]);
  const now = services.clock.monotonic();
  let place = known.get(key);
  if (!place || place.until <= now) {
    const row = await services.control.stores.mcpServers.find({ organisationId, workspaceId: null }, { slug });
    place = { workspaceId: row?.workspaceId, until: now + placeMs };
    known.set(key, place);
  }
  const { workspaceId } = place;
  if (workspaceId === undefined) return undefined;
  const server = await services.mcpServers.find({ organisationId, workspaceId }, slug);
  return server?.isActive ? server : undefined;
}

/** The user of the workspace that claims name; undefined for others. @throws {PermissionError} If the user was removed. */
async function findUser({ services }: RequestContext, server: McpServer, email: string | null) {
  if (email === null) return undefined;
  const { organisationId, workspaceId } = server;
  const user = await services.control.stores.users.find({ organisationId, workspaceId: null }, { email });
  if (user && user.status !== "active") {
    throw new PermissionError("Forbidden! This user is no longer active in the organisation", {
      code: "person_inactive",
    });
  }
  const view = await services.control.directory.workspace({ organisationId, workspaceId });
  return user && view?.members.has(user.id) ? user : undefined;
}

/** The caller that verified claims stand for: at this server, and nowhere else. */
async function toPrincipal(context: RequestContext, server: McpServer, claims: Claims): Promise<Principal> {
  const email = readEmail(claims);
  const user = await findUser(context, server, email);
  const subject = readText(claims, "sub", "uid") ?? email;
  const { organisationId, workspaceId, id } = server;
  const about = await sha256Hex(JSON.stringify([organisationId, claims.iss, subject]));
  return {
    keyId: `jwt_${about.slice(0, 16)}`,
    kind: user ? "workspace-user" : "workspace-service",
    organisationId,
    workspaceId,
    userId: user?.id ?? null,
    person: email ?? subject,
    scopes: new Set(["mcp.invoke"]),
    defaults: noDefaults,
    grant: { clientId: null, serverId: id, scopes: new Set(["mcp"]) },
  };
}

/** What identity providers said of the callers of requests. */
const claimsOfCalls = new WeakMap<object, { claims: Claims; token: string }>();

/** Principals of verified claims, which are the same object while they are held. */
const principals = new WeakMap<Claims, Promise<Principal>>();

/**
 * The caller of a token of an identity provider that the server names.
 *
 * @returns Undefined where the server names none.
 * @throws {AuthenticationError} If it does, and the token is not valid.
 */
export async function authenticateExternal(context: RequestContext, token: string): Promise<CallerContext | undefined> {
  const { externalTokens } = context.services.oauth;
  const organisationId = await organisationOf(context, token);
  const server = organisationId === undefined ? undefined : await locate(context, organisationId);
  const settings = server && (await externalTokens.settingsOf(server));
  if (!server || !settings) return undefined;
  // only an introspection can say what an opaque token is
  if (!hasTokenForm(token) && settings.introspectEndpoint === undefined) return undefined;
  const claims = await externalTokens.verify(server, token, (name) => context.headers.get(name));
  const principal = principals.get(claims) ?? toPrincipal(context, server, claims);
  principals.set(claims, principal);
  principal.catch(() => principals.delete(claims));
  claimsOfCalls.set(context, { claims, token });
  context.log.secrets.push(token);
  // no key of the gateway: a text that nobody sends stands for it, since some upstreams may get the token
  const gatewayKey = `token-of-${crypto.randomUUID()}`;
  const credentials = { gatewayKey, providerCredential: undefined, providerAuthorization: undefined };
  return withCaller(context, await principal, credentials);
}

/** What an identity provider said of the caller, and the token that says so; undefined for others. */
export function externalIdentityOf(context: CallerContext): { claims: Claims; token: string } | undefined {
  return claimsOfCalls.get(context);
}

/**
 * Verifies the token beside a key, where the server asks for one in that header: its claims join the caller.
 *
 * @throws {AuthenticationError} If it is not valid.
 */
export async function requireExternalToken(context: CallerContext, server: McpServer): Promise<void> {
  if (context.principal.grant || server.configurations.jwt_validation === undefined) return;
  const { externalTokens } = context.services.oauth;
  const settings = await externalTokens.settingsOf(server);
  if (!settings) return;
  const value = context.headers.get(settings.headerKey.toLowerCase());
  const token = value?.replace(/^bearer +/i, "");
  if (token === undefined || token === context.gatewayKey) return;
  const claims = await externalTokens.verify(server, token, (name) => context.headers.get(name));
  claimsOfCalls.set(context, { claims, token });
  context.log.secrets.push(token);
}

/** Whether an error says that a token of an identity provider is not valid. */
export function isRefusedToken(error: unknown): error is AuthenticationError {
  return error instanceof AuthenticationError && error.code === "unauthorized";
}
