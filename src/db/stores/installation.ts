import { eq } from "drizzle-orm";
import { type Database, isConflict, toStatement } from "../client.ts";
import { apiKeys, type NewApiKeyRow } from "../tables/api-keys.ts";
import { installation } from "../tables/installation.ts";
import { organisations, users, workspaces } from "../tables/tenants.ts";

/** The records of a new organisation. */
export interface NewOrganisation {
  organisation: typeof organisations.$inferInsert;
  workspace: typeof workspaces.$inferInsert;
  owner: typeof users.$inferInsert;
  keys: readonly NewApiKeyRow[];
}

/** Rows of the first start, written all or nothing. */
export interface FirstStart extends NewOrganisation {
  rootSecret: string;
}

/** Data of this installation. */
export interface InstallationStore {
  /** The wrapped root secret; undefined in an empty database. */
  readRootSecret(): Promise<string | undefined>;
  /** Writes the first rows; false when another process was first. */
  writeFirstStart(start: FirstStart): Promise<boolean>;
  /** Writes the rows of a further organisation. */
  writeOrganisation(rows: NewOrganisation): Promise<void>;
  /** Writes the row of a key. */
  writeKey(key: NewApiKeyRow): Promise<void>;
}

/** The installation store over libSQL. */
export function createInstallationStore(database: Database): InstallationStore {
  const { orm } = database;
  const insertOrganisation = ({ organisation, workspace, owner, keys }: NewOrganisation) => [
    toStatement(orm.insert(organisations).values(organisation)),
    toStatement(orm.insert(workspaces).values(workspace)),
    toStatement(orm.insert(users).values(owner)),
    ...keys.map((key) => toStatement(orm.insert(apiKeys).values(key))),
  ];
  return {
    async readRootSecret() {
      const [row] = await orm.select().from(installation).where(eq(installation.name, "root-secret")).limit(1);
      return row?.value;
    },
    async writeFirstStart({ rootSecret, ...rows }) {
      const { createdAt } = rows.organisation;
      try {
        await database.write([
          toStatement(orm.insert(installation).values({ name: "root-secret", value: rootSecret, createdAt })),
          ...insertOrganisation(rows),
        ]);
        return true;
      } catch (error) {
        if (isConflict(error)) return false;
        throw error;
      }
    },
    async writeOrganisation(rows) {
      await database.write(insertOrganisation(rows));
    },
    async writeKey(key) {
      await database.write([toStatement(orm.insert(apiKeys).values(key))]);
    },
  };
}
