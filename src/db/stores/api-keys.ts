import { and, eq, inArray, isNull, or } from "drizzle-orm";
import type { Database } from "../client.ts";
import { type ApiKeyRow, apiKeys } from "../tables/api-keys.ts";

/**
 * API keys for authentication. These queries run before a tenant is known, since the credential determines it, so
 * they are the only statements on this table without a tenant.
 */
export interface ApiKeyStore {
  /** The key with this public part. */
  findByLookupId(lookupId: string): Promise<ApiKeyRow | undefined>;
  /** The key with this record id. */
  findById(id: string): Promise<ApiKeyRow | undefined>;
  /** Keys whose current or former secret is not in the gateway's format: the few that were given at the first start. */
  listOfAnyForm(): Promise<ApiKeyRow[]>;
}

/** Most bootstrap keys that are compared with a credential. */
const maxKeysOfAnyForm = 16;

/** The key store over libSQL. */
export function createApiKeyStore(database: Database): ApiKeyStore {
  const { orm } = database;
  return {
    async findByLookupId(lookupId) {
      const [row] = await orm.select().from(apiKeys).where(eq(apiKeys.lookupId, lookupId)).limit(1);
      return row;
    },
    async findById(id) {
      const [row] = await orm.select().from(apiKeys).where(eq(apiKeys.id, id)).limit(1);
      return row;
    },
    listOfAnyForm: () =>
      orm
        .select()
        .from(apiKeys)
        .where(
          and(
            or(isNull(apiKeys.lookupId), eq(apiKeys.formerOfAnyForm, true)),
            inArray(apiKeys.status, ["active", "exhausted"]),
          ),
        )
        .limit(maxKeysOfAnyForm),
  };
}
