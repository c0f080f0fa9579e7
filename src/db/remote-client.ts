import type { Client, InStatement } from "@libsql/client";
import { SilenceWatch } from "./silence.ts";

/** Longest time a reading statement may take although the database answers others. */
const readWithinMs = 5_000;
/** The same of a transaction that writes. */
const writeWithinMs = 30_000;

/** The same of a change of the schema, which may have to read whole tables. */
const schemaWithinMs = 10 * 60_000;

/** Reads, which a request waits for. */
const readingPattern = /^\s*(?:SELECT|WITH|PRAGMA)\b/i;
/** Changes of the schema. */
const schemaPattern = /^\s*(?:CREATE|ALTER|DROP)\b/i;

/** How long statements may take together. */
function withinOf(statements: readonly (InStatement | readonly [string, unknown?])[]): number {
  const queries = statements.map((statement) =>
    typeof statement === "string" ? statement : "sql" in statement ? statement.sql : String(statement[0]),
  );
  if (queries.every((text) => readingPattern.test(text))) return readWithinMs;
  return queries.some((text) => schemaPattern.test(text)) ? schemaWithinMs : writeWithinMs;
}

/** Calls of one client over HTTP, which can be ended together. */
class Connections {
  #open = new AbortController();

  /** As the global `fetch`, with bodies that are read. */
  fetch = async (request: Request): Promise<Response> => {
    const { signal } = this.#open;
    const ending = new AbortController();
    const end = () => ending.abort();
    signal.addEventListener("abort", end, { once: true });
    try {
      const response = await fetch(request, { signal: ending.signal });
      // also a body that does not come is ended
      return new Response(await response.arrayBuffer(), response);
    } finally {
      signal.removeEventListener("abort", end);
    }
  };

  end(): void {
    this.#open.abort();
    this.#open = new AbortController();
  }
}

/** Where the database is. */
interface RemoteLocation {
  url: string;
  authToken?: string;
}

/** A client of a database on another machine, and what its calls are run with. */
interface RemoteClient {
  client: Client;
  /** Ends the questions whether the database is there. */
  close(): void;
}

/** Connects to a database on another machine. Each call has a deadline. */
export async function connectRemote(location: RemoteLocation): Promise<RemoteClient> {
  const { createClient } = await import("@libsql/client");
  const connections = new Connections();
  const open = () => createClient({ ...location, fetch: connections.fetch });
  const client = open();
  /** Apart from the others, of which only so many run at a time. */
  let asking: Client | undefined;
  const watch = new SilenceWatch({
    probe: () => {
      asking ??= open();
      return asking.execute("SELECT 1");
    },
    disconnect: () => connections.end(),
  });
  const execute = (statement: InStatement) => watch.run(() => client.execute(statement), withinOf([statement]));
  const batch: Client["batch"] = (statements, mode) =>
    watch.run(() => client.batch(statements, mode), withinOf(statements));
  const watched = new Proxy(client, {
    get(target, name) {
      if (name === "execute") return execute;
      if (name === "batch") return batch;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  return {
    client: watched,
    close() {
      watch.close();
      asking?.close();
    },
  };
}
