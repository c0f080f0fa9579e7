import type { Statement } from "../../../db/client.ts";
import type { AuditStore, Change } from "../../../db/stores/audit.ts";
import { type OauthStore, revocationResource } from "../../../db/stores/oauth.ts";
import type { Clock } from "../../../lib/clock.ts";

/** Longest life of an access token, and what clocks may differ by. */
export const revocationMs = 20 * 60_000;

/** What makes a token invalid before it expires: ids of tokens, of families of tokens, and of clients. */
export interface Revocations {
  /** Whether any of some ids was revoked after a token was issued. In memory. */
  has(...ids: readonly (string | undefined)[]): boolean;
  /** Revokes at once here. The result makes other processes learn of it, once it is written. */
  revoking(organisationId: string, ids: readonly string[]): Statement[];
  /** Revokes in all processes: at once here, elsewhere as soon as they read the change. */
  revoke(organisationId: string, ids: readonly string[], statements?: readonly Statement[]): Promise<void>;
  /** Takes up what other processes revoked. Without changes, everything is read again. */
  note(changes: readonly Change[] | undefined): void;
}

/** Options of the revocations. */
interface RevocationsOptions {
  readonly store: OauthStore;
  /** Kind of record by which processes learn of them. Default: that of tokens. */
  readonly resource?: string;
  /** Milliseconds for which an id matters. Default: as long as an access token lives. */
  readonly lifeMs?: number;
  readonly audit: Pick<AuditStore, "announce">;
  readonly write: (statements: readonly Statement[]) => Promise<unknown>;
  readonly clock: Clock;
  readonly warn: (message: string, error?: unknown) => void;
}

/** Creates the revocations, with those that are stored. */
export async function createRevocations(options: RevocationsOptions): Promise<Revocations> {
  const { store, audit, clock, write, warn, resource = revocationResource, lifeMs = revocationMs } = options;
  /** Unix milliseconds until which an id matters. */
  const revoked = new Map<string, number>();

  const add = (id: string, until: number) => {
    const now = clock.now();
    for (const [known, end] of revoked) {
      if (end > now) break; // in the order of their ends, nearly
      revoked.delete(known);
    }
    revoked.set(id, until);
  };
  const readAll = async () => {
    for (const { id, expiresAt } of await store.revocations(clock.now())) add(id, expiresAt);
  };
  await readAll();
  const revoking: Revocations["revoking"] = (organisationId, ids) => {
    const expiresAt = clock.now() + lifeMs;
    // before the database: here nothing is served with it any more, whatever becomes of the write
    for (const id of ids) add(id, expiresAt);
    return ids.map((id) => store.revoke({ id, organisationId, expiresAt }, resource));
  };
  return {
    revoking,
    has: (...ids) => ids.some((id) => id !== undefined && (revoked.get(id) ?? 0) > clock.now()),
    async revoke(organisationId, ids, statements = []) {
      const revoked = revoking(organisationId, ids);
      const changes = ids.map((recordId) => ({ organisationId, workspaceId: null, resource, recordId }));
      const now = clock.now();
      await write([...statements, ...revoked, ...changes.map((change) => audit.announce(change, now))]);
    },
    note(changes) {
      if (!changes) {
        readAll().catch((error) => warn("Cannot read revoked tokens", error));
        return;
      }
      for (const change of changes) {
        if (change.resource === resource && change.recordId !== "") add(change.recordId, clock.now() + lifeMs);
      }
    },
  };
}
