import { hasTokenForm, readClaims, readEmail, readText } from "../../auth/jwt-claims.ts";
import { noDefaults, type Principal } from "../../auth/principal.ts";
import { type CallerContext, type RequestContext, withCaller } from "../../context.ts";
import { AuthenticationError, NotFoundError, PermissionError } from "../../errors.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import { sha256Hex } from "../../lib/hash.ts";
import type { McpServer } from "../registry/mcp-server.ts";
import { mayHoldToken } from "../registry/oauth/external-tokens.ts";

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

/** The member of the workspace whose address claims hold; undefined for others. @throws {PermissionError} If the member was removed. */
async function findMember({ services }: RequestContext, server: McpServer, email: string | null) {
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

/** A caller that verified claims stand for. */
interface ExternalCaller {
  readonly principal: Principal;
  /** The member whose address the claims hold. It may take access away and never gives any. */
  readonly memberId: string | undefined;
  /** Milliseconds of the monotonic clock after which it is looked up again. */
  readonly until: number;
}

/** A member is looked up again after this long. */
const callerMs = 30_000;

/**
 * The caller that verified claims stand for: at this server, and nowhere else. Whoever sets the keys of an integration can
 * write any claim, so it is never a member: no accounts, rights or limits of members.
 */
async function toCaller(context: RequestContext, server: McpServer, claims: Claims): Promise<ExternalCaller> {
  const email = readEmail(claims);
  const member = await findMember(context, server, email);
  const subject = readText(claims, "sub", "uid") ?? email;
  const { organisationId, workspaceId, id, integrationId } = server;
  const about = await sha256Hex(JSON.stringify([organisationId, integrationId, claims.iss, subject]));
  const principal: Principal = {
    keyId: `mcp_jwt_${about.slice(0, 16)}`,
    kind: "workspace-service",
    organisationId,
    workspaceId,
    userId: null,
    person: email ?? subject,
    scopes: new Set(["mcp.invoke"]),
    defaults: noDefaults,
    grant: { clientId: null, serverId: id, scopes: new Set(["mcp"]) },
  };
  return { principal, memberId: member?.id, until: context.services.clock.monotonic() + callerMs };
}

/** What identity providers said of the callers of requests. */
const claimsOfCalls = new WeakMap<object, { claims: Claims; token: string }>();

/** Callers by their verified claims, which are the same object while they are held. */
const callers = new WeakMap<Claims, Promise<ExternalCaller>>();

/** The caller of verified claims, looked up again after a while. */
async function callerOf(context: RequestContext, server: McpServer, claims: Claims): Promise<ExternalCaller> {
  const known = await callers.get(claims);
  if (known && known.until > context.services.clock.monotonic()) return known;
  const found = toCaller(context, server, claims);
  callers.set(claims, found);
  found.catch(() => callers.delete(claims));
  return found;
}

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
  const { principal, claims } = await requireExternal(context, server, token);
  claimsOfCalls.set(context, { claims, token });
  context.log.secrets.push(token);
  // no key of the gateway: a text that nobody sends stands for it, since some upstreams may get the token
  const gatewayKey = `token-of-${crypto.randomUUID()}`;
  return withCaller(context, principal, {
    gatewayKey,
    providerCredential: undefined,
    providerAuthorization: undefined,
    authenticateAgain: async () => (await requireExternal(context, server, token)).principal,
  });
}

/** The caller of a token that the server accepts. @throws {GatewayError} If it is not valid, or the member has no access. */
async function requireExternal(context: RequestContext, server: McpServer, token: string) {
  const { externalTokens } = context.services.oauth;
  const claims = await externalTokens.verify(server, token, (name) => context.headers.get(name));
  const { principal, memberId } = await callerOf(context, server, claims);
  if (memberId === undefined || server.isOpenTo(memberId)) return { principal, claims };
  // as for a server that does not exist
  throw new NotFoundError("Cannot find this MCP server", { code: "mcp_server_not_found" });
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
  const header = settings.headerKey.toLowerCase();
  const value = mayHoldToken(header, context.services.headerRules) ? context.headers.get(header) : undefined;
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
