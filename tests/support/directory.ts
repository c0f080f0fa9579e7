import { createClient } from "@libsql/client/sqlite3";
import { drizzle } from "drizzle-orm/libsql/sqlite3";
import { createDirectory, type Directory } from "../../src/control/directory.ts";
import { createFollower } from "../../src/control/follower.ts";
import type { ContentOpener } from "../../src/control/sealed-contents.ts";
import type { Database } from "../../src/db/client.ts";
import { createControlStores } from "../../src/db/stores/control.ts";

/** Gives contents as they are stored, masks included. */
export const plainOpener: ContentOpener = {
  open: async (_, versions) => new Map(versions.map(({ id, content }) => [id, content])),
  text: async () => undefined,
};

/** Everything a view shows, as values that can be compared. */
export async function showView(
  directory: Directory,
  tenant: { organisationId: string; workspaceId: string },
  people: readonly string[],
): Promise<unknown> {
  const view = await directory.workspace(tenant);
  if (!view) return undefined;
  const { prompts, partials, members, ...others } = view;
  return {
    ...others,
    prompts: prompts.records,
    partials: partials.records,
    members: people.map((id) => [members.has(id), members.get(id)]),
  };
}

/** A directory as another node has it: over a separate connection whose reads are counted, with a follower of changes. */
export async function openNode(database: Database) {
  const { rows } = await database.read("PRAGMA database_list");
  const client = createClient({ url: `file:${rows[0]?.file}` });
  const calls: string[][] = [];
  let isAway = false;
  const note = (texts: string[]) => {
    if (isAway) throw new Error("SERVER_ERROR: the database is away");
    calls.push(texts);
  };
  const counted = new Proxy(client, {
    get(target, name) {
      if (name === "execute") {
        return async (statement: { sql: string }) => {
          note([statement.sql]);
          return target.execute(statement);
        };
      }
      if (name === "batch") {
        return async (statements: { sql: string }[], mode?: "deferred") => {
          note(statements.map(({ sql }) => sql));
          return target.batch(statements, mode);
        };
      }
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const directory = createDirectory(
    createControlStores({ ...database, orm: drizzle({ client: counted }) }),
    plainOpener,
  );
  const follower = await createFollower(createControlStores(database).audit, {
    changed: (changes) => directory.forget(changes),
    repeated: (changes) => directory.forget(changes),
    lost: () => directory.forgetAll(),
    returned: () => directory.forgetAll(),
  });
  return {
    directory,
    close: () => client.close(),
    look: () => follower.look(),
    setAway: (away: boolean) => {
      isAway = away;
    },
    /** Calls of the database and tables read since it was asked last. */
    taken() {
      const texts = calls.splice(0);
      const tables = texts.flat().flatMap((sql) => [...sql.matchAll(/from "(\w+)"/g)].map(([, name]) => name ?? ""));
      return { calls: texts.length, tables: [...new Set(tables)].toSorted() };
    },
  };
}
