import type { Statement } from "../db/client.ts";
import type { ControlStores } from "../db/stores/control.ts";

/** What the upkeep of keys needs. */
interface KeyUpkeepOptions {
  stores: Pick<ControlStores, "apiKeys" | "organisations">;
  /** Writes the statements in one transaction. */
  write(statements: readonly Statement[]): Promise<unknown>;
  now(): number;
}

/** Statements that bring the keys of an organisation up to date. Each one writes only if nobody changed its key meanwhile. */
async function findOverdue(
  { apiKeys }: KeyUpkeepOptions["stores"],
  organisationId: string,
  now: number,
): Promise<Statement[]> {
  const tenant = { organisationId, workspaceId: null };
  const live = ["active", "exhausted"];
  const until = { to: now + 1 };
  const [expired, rotated] = await Promise.all([
    apiKeys.all(tenant, { where: { status: live }, between: { column: "expiresAt", ...until } }),
    apiKeys.all(tenant, { between: { column: "transitionEndsAt", ...until } }),
  ]);
  const former = { formerDigest: null, formerOfAnyForm: false, transitionEndsAt: null };
  return [
    ...expired.map(({ id, expiresAt }) =>
      apiKeys.update(tenant, { id, expiresAt, status: live }, { status: "expired", lastUpdatedAt: now }),
    ),
    ...rotated.map(({ id, transitionEndsAt }) => apiKeys.update(tenant, { id, transitionEndsAt }, former)),
  ];
}

/**
 * Creates the upkeep of keys, to be run about once a minute on any number of nodes: marks keys past their end as expired and
 * forgets former secrets that no longer work. Authentication does not wait for it: it compares the times itself. Keys are not
 * rotated here, because a secret made by nobody's call would be shown to nobody.
 */
export function createKeyUpkeep(options: KeyUpkeepOptions): () => Promise<void> {
  const { stores, write } = options;
  let isRunning = false;
  const run = async () => {
    const now = options.now();
    for (const { id } of await stores.organisations.listAll()) {
      const statements = await findOverdue(stores, id, now);
      if (statements.length > 0) await write(statements);
    }
  };
  return async () => {
    if (isRunning) return;
    isRunning = true;
    try {
      await run();
    } finally {
      isRunning = false;
    }
  };
}
