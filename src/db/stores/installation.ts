import { eq } from "drizzle-orm";
import { type Database, isConflict, toStatement } from "../client.ts";
import { type ApiKeyRow, apiKeys } from "../tables/api-keys.ts";
import { installation } from "../tables/installation.ts";
import { organisations, users, workspaces } from "../tables/tenants.ts";

/** What the first start writes, all or nothing. */
export interface FirstStart {
  rootSecret: string;
  organisation: typeof organisations.$inferInsert;
  workspace: typeof workspaces.$inferInsert;
  owner: typeof users.$inferInsert;
  keys: readonly ApiKeyRow[];
}

/** Facts of this installation. */
export interface InstallationStore {
  /** The wrapped root secret; undefined in an empty database. */
  readRootSecret(): Promise<string | undefined>;
  /** Writes the first records; false when another process was first. */
  writeFirstStart(start: FirstStart): Promise<boolean>;
}

/** The installation store over libSQL. */
export function createInstallationStore(database: Database): InstallationStore {
  const { orm } = database;
  return {
    async readRootSecret() {
      const [row] = await orm.select().from(installation).where(eq(installation.name, "root-secret")).limit(1);
      return row?.value;
    },
    async writeFirstStart({ rootSecret, organisation, workspace, owner, keys }) {
      const createdAt = organisation.createdAt;
      try {
        await database.write([
          toStatement(orm.insert(installation).values({ name: "root-secret", value: rootSecret, createdAt })),
          toStatement(orm.insert(organisations).values(organisation)),
          toStatement(orm.insert(workspaces).values(workspace)),
          toStatement(orm.insert(users).values(owner)),
          ...keys.map((key) => toStatement(orm.insert(apiKeys).values(key))),
        ]);
        return true;
      } catch (error) {
        if (isConflict(error)) return false;
        throw error;
      }
    },
  };
}
