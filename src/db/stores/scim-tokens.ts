import { eq } from "drizzle-orm";
import type { Database } from "../client.ts";
import { type ScimTokenRow, scimTokens } from "../tables/scim.ts";

/** Tokens of identity providers for authentication: the token determines the tenant. */
export interface ScimTokenStore {
  /** The token with this public part. */
  findByLookupId(lookupId: string): Promise<ScimTokenRow | undefined>;
}

/** The token store over libSQL. */
export function createScimTokenStore({ orm }: Database): ScimTokenStore {
  return {
    async findByLookupId(lookupId) {
      const [row] = await orm.select().from(scimTokens).where(eq(scimTokens.lookupId, lookupId)).limit(1);
      return row;
    },
  };
}
