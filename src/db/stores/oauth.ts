import { and, eq, gt, isNull, lt, type SQL, sql } from "drizzle-orm";
import { type Database, isConflict, type Statement, toStatement } from "../client.ts";
import {
  type OauthClientRow,
  type OauthCodeRow,
  type OauthFamilyRow,
  oauthClients,
  oauthCodes,
  oauthFamilies,
  oauthNonces,
  oauthRevocations,
  type SigningKeyRow,
  signingKeys,
} from "../tables/oauth.ts";

/** A revoked token, family of tokens, or client. */
type Revocation = typeof oauthRevocations.$inferSelect;

/** Kind of record by which processes learn of revocations. */
export const revocationResource = "oauth_revocations";

/** What the authorization server stores. Codes, tokens and clients name their tenant themselves: they are looked up by secrets. */
export interface OauthStore {
  findClient(id: string): Promise<OauthClientRow | undefined>;
  /** Stores a client, in place of one with the same id. */
  putClient(row: OauthClientRow): Promise<void>;
  /**
   * Removes clients that no administrator created, beyond a number of them: those used least recently, and those with tokens or a
   * consent after all others.
   */
  trimClients(most: number, now: number): Promise<void>;
  touchClient(id: string, now: number): Promise<void>;
  insertCode(row: OauthCodeRow): Promise<void>;
  findCode(digest: string): Promise<OauthCodeRow | undefined>;
  /**
   * Uses a code, once.
   *
   * @param familyId Family of the tokens it is exchanged for.
   * @param family Its row; absent where the code is spent without tokens.
   * @returns False if it was used before.
   */
  useCode(digest: string, familyId: string, family: OauthFamilyRow | undefined): Promise<boolean>;
  findFamily(id: string): Promise<OauthFamilyRow | undefined>;
  /** Makes the next token of a family the valid one; false if another one was valid, or none is. */
  rotate(id: string, sequence: number, times: { now: number; expiresAt: number }): Promise<boolean>;
  /** Families of a client that are valid. */
  familiesOf(clientId: string, now: number): Promise<OauthFamilyRow[]>;
  /** A statement that ends a family. */
  revokeFamily(id: string, now: number): Statement;
  /** A statement that ends the families of sign-ins with a key. */
  revokeFamiliesOfKey(keyId: string, now: number): Statement;
  /** @param resource Kind of record by which processes learn of it. Default: that of tokens. */
  revoke(revocation: Revocation, resource?: string): Statement;
  /** Revocations that still matter. */
  revocations(now: number): Promise<Revocation[]>;
  /** Uses a value once; false if it was used before. */
  useNonce(digest: string, expiresAt: number): Promise<boolean>;
  signingKeys(): Promise<SigningKeyRow[]>;
  /** Stores the key of a purpose, unless it has one. */
  addSigningKey(row: SigningKeyRow): Promise<void>;
  /** Removes what expired, and clients that were not used since a time. */
  purge(now: number, unusedSince: number): Promise<void>;
}

/** Clients that anyone can make. */
const selfMade = "kind IN ('dynamic', 'document')";
/** Clients without valid tokens and without a consent. */
const isUnused = `NOT EXISTS (SELECT 1 FROM oauth_consents WHERE client_id = oauth_clients.id) AND NOT EXISTS
  (SELECT 1 FROM oauth_families WHERE client_id = oauth_clients.id AND revoked_at IS NULL AND expires_at > ?)`;

/** The statement that removes the clients used least recently; its last argument is how many. */
function trimOf(condition: string): string {
  return `DELETE FROM oauth_clients WHERE id IN
    (SELECT id FROM oauth_clients WHERE ${selfMade} ${condition} ORDER BY last_used_at LIMIT ?)`;
}

type Write = (...statements: Statement[]) => ReturnType<Database["write"]>;

function createClientRows(
  { orm, read }: Database,
  write: Write,
): Pick<OauthStore, "findClient" | "putClient" | "trimClients" | "touchClient"> {
  return {
    async findClient(id) {
      const [row] = await orm.select().from(oauthClients).where(eq(oauthClients.id, id)).limit(1);
      return row;
    },
    async putClient(row) {
      const statement = toStatement(orm.insert(oauthClients).values(row));
      await write({ ...statement, sql: statement.sql.replace(/^insert into/, "insert or replace into") });
    },
    async trimClients(most, now) {
      const { rows } = await read({ sql: `SELECT count(*) AS stored FROM oauth_clients WHERE ${selfMade}`, args: [] });
      const excess = Number(rows[0]?.stored ?? 0) - most;
      if (excess <= 0) return;
      const [unused] = await write({ sql: trimOf(`AND ${isUnused}`), args: [now, excess] });
      const left = excess - (unused?.rowsAffected ?? 0);
      if (left > 0) await write({ sql: trimOf(""), args: [left] });
    },
    async touchClient(id, now) {
      await write(toStatement(orm.update(oauthClients).set({ lastUsedAt: now }).where(eq(oauthClients.id, id))));
    },
  };
}

function createGrantRows(
  { orm }: Database,
  write: Write,
): Pick<
  OauthStore,
  | "insertCode"
  | "findCode"
  | "useCode"
  | "findFamily"
  | "rotate"
  | "familiesOf"
  | "revokeFamily"
  | "revokeFamiliesOfKey"
> {
  const revoking = (which: SQL, now: number) =>
    toStatement(
      orm
        .update(oauthFamilies)
        .set({ revokedAt: now })
        .where(and(which, isNull(oauthFamilies.revokedAt))),
    );
  return {
    async insertCode(row) {
      await write(toStatement(orm.insert(oauthCodes).values(row)));
    },
    async findCode(digest) {
      const [row] = await orm.select().from(oauthCodes).where(eq(oauthCodes.digest, digest)).limit(1);
      return row;
    },
    async useCode(digest, familyId, family) {
      const unused = and(eq(oauthCodes.digest, digest), isNull(oauthCodes.familyId));
      const use = toStatement(orm.update(oauthCodes).set({ familyId }).where(unused));
      if (!family) {
        const [used] = await write(use);
        return (used?.rowsAffected ?? 0) > 0;
      }
      // the family exists only if this call used the code
      const insert = toStatement(orm.insert(oauthFamilies).values(family));
      const values = /values (\(.*\))$/.exec(insert.sql)?.[1] ?? "";
      const select = `select * from (values ${values}) where exists (select 1 from oauth_codes where digest = ? and family_id = ?)`;
      const [used] = await write(use, {
        sql: insert.sql.replace(/values \(.*\)$/, select),
        args: [...insert.args, digest, familyId],
      });
      return (used?.rowsAffected ?? 0) > 0;
    },
    async findFamily(id) {
      const [row] = await orm.select().from(oauthFamilies).where(eq(oauthFamilies.id, id)).limit(1);
      return row;
    },
    async rotate(id, sequence, { now, expiresAt }) {
      const valid = and(
        eq(oauthFamilies.id, id),
        eq(oauthFamilies.sequence, sequence),
        isNull(oauthFamilies.revokedAt),
        gt(oauthFamilies.expiresAt, now),
      );
      const next = { sequence: sequence + 1, rotatedAt: now, expiresAt };
      const [rotated] = await write(toStatement(orm.update(oauthFamilies).set(next).where(valid)));
      return (rotated?.rowsAffected ?? 0) > 0;
    },
    familiesOf(clientId, now) {
      const valid = and(
        eq(oauthFamilies.clientId, clientId),
        isNull(oauthFamilies.revokedAt),
        gt(oauthFamilies.expiresAt, now),
      );
      return orm.select().from(oauthFamilies).where(valid);
    },
    revokeFamily: (id, now) => ({
      ...revoking(eq(oauthFamilies.id, id), now),
      written: { resource: revocationResource, workspaceId: null, recordIds: [id] },
    }),
    // access tokens ask for the key itself
    revokeFamiliesOfKey: (keyId, now) => ({
      ...revoking(eq(oauthFamilies.keyId, keyId), now),
      written: { resource: revocationResource, workspaceId: null },
    }),
  };
}

/** Creates the store over libSQL. */
export function createOauthStore(database: Database): OauthStore {
  const { orm } = database;
  const write: Write = (...statements) => database.write(statements);
  return {
    ...createClientRows(database, write),
    ...createGrantRows(database, write),
    revoke: (revocation, resource = revocationResource) => ({
      ...toStatement(orm.insert(oauthRevocations).values(revocation).onConflictDoNothing()),
      written: { resource, workspaceId: null, recordIds: [revocation.id] },
    }),
    revocations: (now) => orm.select().from(oauthRevocations).where(gt(oauthRevocations.expiresAt, now)),
    async useNonce(digest, expiresAt) {
      try {
        await write(toStatement(orm.insert(oauthNonces).values({ digest, expiresAt })));
        return true;
      } catch (error) {
        if (isConflict(error)) return false;
        throw error;
      }
    },
    signingKeys: () => orm.select().from(signingKeys),
    async addSigningKey(row) {
      await write(toStatement(orm.insert(signingKeys).values(row).onConflictDoNothing()));
    },
    async purge(now, unusedSince) {
      const unused = and(sql`${oauthClients.kind} <> 'registered'`, lt(oauthClients.lastUsedAt, unusedSince));
      await write(
        toStatement(orm.delete(oauthCodes).where(lt(oauthCodes.expiresAt, now - codeMemoryMs))),
        toStatement(orm.delete(oauthNonces).where(lt(oauthNonces.expiresAt, now))),
        toStatement(orm.delete(oauthRevocations).where(lt(oauthRevocations.expiresAt, now))),
        toStatement(orm.delete(oauthFamilies).where(lt(oauthFamilies.expiresAt, now))),
        toStatement(orm.delete(oauthClients).where(unused)),
      );
    },
  };
}

/** Used codes are remembered for a day: a second use revokes what the first one issued. */
const codeMemoryMs = 24 * 60 * 60_000;
