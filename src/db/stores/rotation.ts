import { and, asc, count, eq, gt, ne, sql } from "drizzle-orm";
import { type Database, toStatement } from "../client.ts";
import { installation } from "../tables/installation.ts";
import { type SecretRow, secrets } from "../tables/secrets.ts";

/** Identifies a sealed secret. */
export type SecretId = Pick<SecretRow, "kind" | "recordId" | "field">;

/** For operator commands: everything that master keys wrap, of every organisation. */
export interface RotationStore {
  /** The wrapped root secret; undefined in an empty database. */
  readRootSecret(): Promise<string | undefined>;
  /** Replaces the wrapped root secret; false when it is no longer `from`. */
  replaceRootSecret(from: string, to: string): Promise<boolean>;
  /** Number of sealed secrets per master key version. */
  countSecrets(): Promise<Map<string, number>>;
  /** Sealed secrets of other versions, ordered by name, after one of them. */
  secretsNotUnder(version: string, after: SecretId | undefined, limit: number): Promise<SecretRow[]>;
  /** Replaces wrapped keys, all or none; rows that changed meanwhile are skipped. Returns how many were replaced. */
  replaceWrappedKeys(
    changes: readonly { row: SecretRow; wrapped: Pick<SecretRow, "kekVersion" | "wrappedKey"> }[],
  ): Promise<number>;
}

const isRootSecret = eq(installation.name, "root-secret");

/** The rotation store over libSQL. */
export function createRotationStore(database: Database): RotationStore {
  const { orm } = database;
  return {
    async readRootSecret() {
      const [row] = await orm.select().from(installation).where(isRootSecret).limit(1);
      return row?.value;
    },
    async replaceRootSecret(from, to) {
      const query = orm
        .update(installation)
        .set({ value: to })
        .where(and(isRootSecret, eq(installation.value, from)));
      const [result] = await database.write([toStatement(query)]);
      return result?.rowsAffected === 1;
    },
    async countSecrets() {
      const rows = await orm
        .select({ version: secrets.kekVersion, total: count() })
        .from(secrets)
        .groupBy(secrets.kekVersion);
      return new Map(rows.map(({ version, total }) => [version, total]));
    },
    secretsNotUnder(version, after, limit) {
      const { kind, recordId, field } = secrets;
      const behind =
        after && gt(sql`(${kind}, ${recordId}, ${field})`, sql`(${after.kind}, ${after.recordId}, ${after.field})`);
      return orm
        .select()
        .from(secrets)
        .where(and(ne(secrets.kekVersion, version), behind))
        .orderBy(asc(kind), asc(recordId), asc(field))
        .limit(limit);
    },
    async replaceWrappedKeys(changes) {
      if (changes.length === 0) return 0;
      const results = await database.write(
        changes.map(({ row, wrapped }) =>
          toStatement(
            orm
              .update(secrets)
              .set(wrapped)
              .where(
                and(
                  eq(secrets.kind, row.kind),
                  eq(secrets.recordId, row.recordId),
                  eq(secrets.field, row.field),
                  eq(secrets.wrappedKey, row.wrappedKey),
                ),
              ),
          ),
        ),
      );
      return results.reduce((sum, { rowsAffected }) => sum + rowsAffected, 0);
    },
  };
}
