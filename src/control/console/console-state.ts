import type { Authenticator } from "../../auth/authenticate.ts";
import type { OrganisationRow } from "../../db/tables/tenants.ts";
import type { Clock } from "../../lib/clock.ts";
import { deriveKey } from "../../lib/hash.ts";
import type { McpOauth } from "../../mcp/registry/oauth/mcp-oauth.ts";
import { createRevocations } from "../../mcp/registry/oauth/revocations.ts";
import { createStateSeal } from "../../mcp/registry/oauth/seal.ts";
import type { ControlPlane } from "../control-plane.ts";
import type { IdentityLookUps } from "../identity-look-ups.ts";
import { toRecord } from "../settings.ts";
import type { ConsoleAssets } from "./assets.ts";
import { type ConsoleSessions, createConsoleSessions, sessionMs } from "./sessions.ts";
import { createUserPrincipals } from "./user-principal.ts";

/** What the gateway has in memory of its console. */
export interface ConsoleState {
  readonly assets: ConsoleAssets;
  readonly sessions: ConsoleSessions;
}

/** What the console is made from. */
interface ConsoleParts {
  readonly control: ControlPlane;
  readonly clock: Clock;
  readonly oauth: Pick<McpOauth, "store" | "write">;
  readonly lookUps: IdentityLookUps;
  readonly authenticator: Pick<Authenticator, "ofDigest">;
  /** Keys are derived from it, each for one purpose. */
  readonly stateKey: Uint8Array<ArrayBuffer>;
  readonly warn: (message: string, error?: unknown) => void;
}

/** Kind of record by which processes learn of ended sessions. */
const endedResource = "console_sessions";

/** Longest session that an organisation allows, in milliseconds. */
function longestSession(organisation: OrganisationRow | undefined): number {
  const { max_session_ttl: seconds } = toRecord(toRecord(organisation?.settings).session_settings);
  return typeof seconds === "number" ? Math.min(seconds * 1_000, sessionMs) : sessionMs;
}

/** Creates the state of the console. */
export async function createConsoleState(
  assets: ConsoleAssets,
  { control, clock, oauth, lookUps, authenticator, stateKey, warn }: ConsoleParts,
): Promise<ConsoleState> {
  const { store, write } = oauth;
  const sealKey = await deriveKey(stateKey, "console-sessions");
  const ended = await createRevocations({
    store,
    audit: control.stores.audit,
    write,
    clock,
    warn,
    resource: endedResource,
    lifeMs: sessionMs,
  });
  const sessions = createConsoleSessions({
    clock,
    ended,
    lifeOf: async (organisationId) => longestSession(await lookUps.organisation(organisationId)),
    seal: await createStateSeal(sealKey, { now: clock.now, useNonce: store.useNonce }),
    ofDigest: (keyId, digest) => authenticator.ofDigest(keyId, digest),
    ofUser: createUserPrincipals(lookUps),
  });
  return { assets, sessions };
}
