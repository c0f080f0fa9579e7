import type { Statement } from "../db/client.ts";
import type { ControlStores } from "../db/stores/control.ts";

/** Options of the key cleanup. */
interface KeyCleanupOptions {
  stores: Pick<ControlStores, "apiKeys" | "organisations">;
  /** The statement that ends what sign-ins with a key gave. */
  endSignIns(keyId: string, now: number): Statement;
  /** Writes the statements in one transaction. */
  write(statements: readonly Statement[]): Promise<unknown>;
  now(): number;
}

/** Statements that update the keys of an organisation. Each has no effect if its key changed meanwhile. */
async function findOverdue(
  { stores: { apiKeys }, endSignIns }: KeyCleanupOptions,
  organisationId: string,
  now: number,
): Promise<Statement[]> {
  const tenant = { organisationId, workspaceId: null };
  const live = ["active", "exhausted"] as const;
  const until = { to: now + 1 };
  const [expired, rotated] = await Promise.all([
    apiKeys.all(tenant, { where: { status: live }, between: { column: "expiresAt", ...until } }),
    apiKeys.all(tenant, { between: { column: "transitionEndsAt", ...until } }),
  ]);
  const former = { formerDigest: null, formerOfAnyForm: false, transitionEndsAt: null };
  return [
    ...expired.flatMap(({ id, expiresAt }) => [
      apiKeys.update(tenant, { id, expiresAt, status: live }, { status: "expired", lastUpdatedAt: now }),
      endSignIns(id, now),
    ]),
    ...rotated.map(({ id, transitionEndsAt }) => apiKeys.update(tenant, { id, transitionEndsAt }, former)),
  ];
}

/**
 * Creates the cleanup of keys, to be run about once a minute on any number of nodes: marks expired keys and deletes former
 * secrets that no longer work. Authentication does not depend on it: it compares the times itself. Keys are not
 * rotated here, because nobody would see the new secret.
 */
export function createKeyCleanup(options: KeyCleanupOptions): () => Promise<void> {
  const { stores, write } = options;
  let isRunning = false;
  const run = async () => {
    const now = options.now();
    for (const { id } of await stores.organisations.listAll()) {
      const statements = await findOverdue(options, id, now);
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
