import type { Client, InStatement } from "@libsql/client";
import { DatabaseAwayError } from "../lib/database-away.ts";
import { SilenceWatch } from "./silence.ts";
import { OneByOne, untilUnlocked } from "./writes.ts";

/** Longest time a reading statement may take although the database answers others. */
const readWithinMs = 5_000;
/** The same of a transaction that writes, with its wait for those before it. */
const defaultWriteWithinMs = 30_000;
/** A write that has less time left when its turn comes is not sent: nobody would wait for its answer. */
const leastWriteMs = 100;

/** The same of a change of the schema, which may have to read whole tables. */
const schemaWithinMs = 10 * 60_000;

/** Reads, which a request waits for. */
const readingPattern = /^\s*(?:SELECT|WITH|PRAGMA)\b/i;
/** Changes of the schema. */
const schemaPattern = /^\s*(?:CREATE|ALTER|DROP)\b/i;

type Statements = readonly (InStatement | readonly [string, unknown?])[];

/** How long statements may take together. */
function withinOf(statements: Statements, writeWithinMs: number): number {
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

/**
 * Writes to a server, one at a time. The server has a queue for the writes of all processes, which is not made for many: each
 * of them holds a connection and a thread while it waits, and is done although nobody waits for it any more.
 */
export class RemoteWrites {
  readonly #queue = new OneByOne();
  readonly #watch: SilenceWatch;
  readonly #connections: Connections;
  readonly #withinMs: number;

  /** @param withinMs Longest time of a write that changes no schema. */
  constructor(watch: SilenceWatch, connections: Connections, withinMs: number) {
    this.#watch = watch;
    this.#connections = connections;
    this.#withinMs = withinMs;
  }

  /**
   * Runs a write after those before it.
   *
   * @throws {DatabaseAwayError} If it is not done in time. If it had not begun, it never begins.
   */
  async add<Value>(write: () => Promise<Value>, statements: Statements): Promise<Value> {
    const state = { isGivenUp: false, isRunning: false };
    const withinMs = withinOf(statements, this.#withinMs);
    const lastStart = performance.now() + withinMs - leastWriteMs;
    const attempt = () => {
      if (state.isGivenUp || performance.now() > lastStart) {
        throw new DatabaseAwayError(new Error("Cannot write: it took too long until its turn"));
      }
      return write();
    };
    const turn = async () => {
      state.isRunning = true;
      try {
        return await untilUnlocked(async () => attempt());
      } finally {
        state.isRunning = false;
      }
    };
    try {
      return await this.#watch.run(() => this.#queue.add(turn), withinMs);
    } finally {
      state.isGivenUp = true;
      // the next one has its turn
      if (state.isRunning) this.#connections.end();
    }
  }

  idle(): Promise<void> {
    return this.#queue.idle();
  }
}

/** Where the database is. */
interface RemoteLocation {
  url: string;
  authToken?: string;
  writeWithinMs?: number;
}

/** Clients of a database on another machine, and what their calls are run with. */
interface RemoteClient {
  /** Each of its calls has a deadline. */
  reader: Client;
  /** For what `writes` runs. */
  writer: Client;
  writes: RemoteWrites;
  /** Ends the questions whether the database is there. */
  close(): void;
}

/** Connects to a database on another machine. */
export async function connectRemote({ writeWithinMs, ...location }: RemoteLocation): Promise<RemoteClient> {
  const { createClient } = await import("@libsql/client");
  const { url, authToken } = location;
  const open = ({ fetch }: Connections) => createClient({ url, ...(authToken !== undefined && { authToken }), fetch });
  const [reads, writes] = [new Connections(), new Connections()];
  const [client, writer] = [open(reads), open(writes)];
  /** Apart from the others, of which only so many run at a time. */
  let asking: Client | undefined;
  const watch = new SilenceWatch({
    probe: () => {
      asking ??= open(reads);
      return asking.execute("SELECT 1");
    },
    disconnect() {
      reads.end();
      writes.end();
    },
  });
  const within = (statements: Statements) => withinOf(statements, writeWithinMs ?? defaultWriteWithinMs);
  const execute = (statement: InStatement) => watch.run(() => client.execute(statement), within([statement]));
  const batch: Client["batch"] = (statements, mode) =>
    watch.run(() => client.batch(statements, mode), within(statements));
  const reader = new Proxy(client, {
    get(target, name) {
      if (name === "execute") return execute;
      if (name === "batch") return batch;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  return {
    reader,
    writer,
    writes: new RemoteWrites(watch, writes, writeWithinMs ?? defaultWriteWithinMs),
    close() {
      watch.close();
      asking?.close();
    },
  };
}
