import { acceptByEmail } from "../admin/users/invite-acceptance.ts";
import { defaultKeyPrefix } from "../auth/api-key.ts";
import { type Authenticator, createAuthenticator } from "../auth/authenticate.ts";
import { createScimAuthenticator } from "../auth/scim-token.ts";
import type { Services } from "../context.ts";
import { createConsoleState } from "../control/console/console-state.ts";
import { createControlPlane } from "../control/control-plane.ts";
import { createIdentityLookUps, type IdentityLookUps } from "../control/identity-look-ups.ts";
import { createSingleSignOn } from "../control/single-sign-on.ts";
import { createTokens } from "../control/tokens.ts";
import { createVault } from "../control/vault.ts";
import { createApiKeyStore } from "../db/stores/api-keys.ts";
import { anyResource, type Change } from "../db/stores/audit.ts";
import { counterResource } from "../db/stores/limit-counters.ts";
import { createScimTokenStore } from "../db/stores/scim-tokens.ts";
import { webMac } from "../lib/hash.ts";
import { defaultMcpSettings } from "../mcp/registry/mcp-state.ts";
import { createMcpOauth } from "../mcp/registry/oauth/mcp-oauth.ts";
import { followPurges } from "./cache.ts";
import { announcementOf } from "./crew.ts";
import { type OpenData, readerOf } from "./data.ts";
import { type GatewayOptions, warnOf } from "./options.ts";

/** Kinds of record on which it depends whom a token stands for. Keys depend on their own rows alone. */
const tokenResources = new Set(["organisations", "workspaces", "users", "workspace_members", "invites", "deployments"]);

/** What keys, tokens and sessions stand for, in memory. */
interface Callers {
  readonly authenticator: Authenticator;
  readonly lookUps: IdentityLookUps;
}

/** Drops the callers a change concerns; without changes, all of them. */
function forgetCallers({ authenticator, lookUps }: Callers, changes: readonly Change[] | undefined): void {
  if (!changes) {
    authenticator.forget({});
    lookUps.forget(undefined);
  }
  for (const { organisationId, resource, recordId } of changes ?? []) {
    if (resource === anyResource || tokenResources.has(resource)) lookUps.forget(organisationId);
    if (resource === "api_keys" && recordId !== "") authenticator.forget({ organisationId, keyId: recordId });
    else if (resource === "api_keys" || resource === anyResource) authenticator.forget({ organisationId });
    else if (tokenResources.has(resource)) authenticator.forget({ organisationId, tokensOnly: true });
  }
}

/** Reads keys again that a replica may have shown as they were before a change. */
function readKeysAgain(authenticator: Authenticator, changes: readonly Change[]): void {
  for (const { resource, recordId } of changes) {
    if (resource === "api_keys" && recordId !== "") authenticator.readAgain(recordId);
  }
}

/** Whether batches may have gone with their workspace. */
function mayEndBatches(changes: readonly Change[] | undefined): boolean {
  return !changes || changes.some(({ resource }) => resource === "workspaces" || resource === anyResource);
}

/** Makes what depends on records follow their changes. */
function noteChanges(
  changes: readonly Change[] | undefined,
  { batches, vectorStores, followCorrections, oauth, console, cache }: Services,
): void {
  if (mayEndBatches(changes)) for (const work of [batches, vectorStores]) work.wake();
  if (!changes || changes.some(({ resource }) => resource === counterResource)) followCorrections();
  oauth.note(changes);
  console?.sessions.note(changes);
  followPurges(cache, changes);
}

/** Makes everything follow changes; undefined when anything may have changed. */
function applyChanges(
  changes: readonly Change[] | undefined,
  {
    snapshot,
    newest,
    services,
    ...callers
  }: Callers & Pick<OpenData, "snapshot"> & { newest: number | undefined; services(): Services },
): void {
  snapshot?.note(changes, newest);
  forgetCallers(callers, changes);
  noteChanges(changes, services());
}

/** What lets users sign in by a browser. */
async function createSignIn(
  options: GatewayOptions,
  {
    installation,
    guard,
    ...parts
  }: Callers &
    Pick<Services, "control" | "clock" | "oauth"> &
    Pick<OpenData, "installation"> & { guard: Services["addressGuard"] },
): Promise<Pick<Services, "singleSignOn" | "console">> {
  const { control, oauth } = parts;
  const stateKey = installation.keys.state;
  const warn = warnOf(options);
  return {
    singleSignOn: createSingleSignOn({ control, guard, oauth }),
    console: options.console ? await createConsoleState(options.console, { ...parts, stateKey, warn }) : undefined,
  };
}

/** Whether a credential is a key of the gateway, or a token of an organisation's own identity provider. */
async function isOwnCredential(credential: string, authenticator: Services["authenticator"]): Promise<boolean> {
  return (await authenticator.isOwnKey(credential)) || (await authenticator.standingOf(credential)) !== "foreign";
}

/** Creates the control plane and the authenticators; changes in the former drop what the latter cached. */
export async function createIdentity(
  options: GatewayOptions,
  { clock, database, installation, masterKeys, snapshot, begunFrom }: OpenData & Pick<Services, "clock">,
  { outbound, guard, services }: Pick<Services, "outbound"> & { guard: Services["addressGuard"]; services(): Services },
) {
  const acceptInvite = (organisationId: string, email: string) => acceptByEmail(organisationId, email, services());
  const createMac = options.createMac ?? webMac;
  const { pepper } = installation.keys;
  const keyMac = createMac(pepper);
  const keyPrefix = options.keyPrefix ?? defaultKeyPrefix;
  const control = await createControlPlane({
    database,
    clock,
    outbound,
    guard,
    declaredIn: options.declaredIn,
    vault: createVault(masterKeys, readerOf(options)),
    auditMac: createMac(installation.keys.audit),
    firstChange: begunFrom?.change,
    changed: (changes, newest) => applyChanges(changes, { authenticator, lookUps, snapshot, newest, services }),
    repeated: (changes) => readKeysAgain(authenticator, changes),
    returned: () => authenticator.readAgain(undefined),
    announced: announcementOf(options),
  });
  const lookUps = createIdentityLookUps({
    control,
    clock,
    ...(options.clientAuth !== undefined && { clientAuthDigest: keyMac(options.clientAuth) }),
  });
  const tokens = createTokens({
    control,
    outbound,
    guard,
    clock,
    settings: options.tokens ?? {},
    lookUps,
    acceptInvite,
  });
  const authenticator = createAuthenticator({
    clock,
    keyPrefix,
    store: createApiKeyStore(database.lastKnown),
    pepper,
    mac: keyMac,
    failuresPerMinute: options.authFailuresPerMinute ?? 300,
    ...(tokens && { tokens }),
  });
  const scimAuthenticator = createScimAuthenticator({
    clock,
    pepper,
    refuse: (address, message) => authenticator.refuse(address, message),
    store: createScimTokenStore(database),
  });
  const oauth = await createMcpOauth({
    database,
    control,
    clock,
    outbound,
    guard,
    pepper,
    keyMac,
    stateKey: installation.keys.state,
    identityKey: options.mcp?.identityKey,
    expiryBufferMs: (options.mcp?.pool ?? defaultMcpSettings.pool).tokenExpiryBufferMs,
    warn: warnOf(options),
    acceptInvite,
    isOwnCredential: (credential) => isOwnCredential(credential, authenticator),
  });
  const signIn = await createSignIn(options, { control, clock, guard, oauth, lookUps, authenticator, installation });
  return { control, keyMac, keyPrefix, authenticator, scimAuthenticator, oauth, ...signIn };
}
