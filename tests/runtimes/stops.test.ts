import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import {
  createFolder,
  fakeWorkspaceKey,
  type GatewayProcess,
  runtime,
  runtimeCommand,
  startGatewayProcess,
  waitFor,
  withGateway,
  within,
} from "../support/process.ts";
import { isWhole } from "../support/sample.ts";
import { repository } from "../support/source-files.ts";
import { ask, askInLoops, copyStopped, listDatabaseFiles, type Outcome, readTraces } from "../support/stopping.ts";

const key = fakeWorkspaceKey;
const hasSignals = process.platform !== "win32";
const skip = !hasSignals && "there are no signals";

/** A master key that no one else uses. */
const masterKeys = `v1:${Buffer.from("0123456789abcdef0123456789ABCDEF").toString("base64url")}`;

const wait = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs));

/** Each round stops a gateway under load; the first ones are also copied. */
const rounds = isWhole ? 20 : 1;
const copies = isWhole ? 5 : 1;
const loops = 16;
const streams = 16;
/** Each step has a bound; together they may take longer than the runner waits for a test. */
const timeout = 1_200_000;

/** Signals the group, then the process again and again, as service managers and parent processes do. */
async function signalAgain(gateway: GatewayProcess): Promise<void> {
  process.kill(-gateway.pid, "SIGTERM");
  for (const signal of ["SIGTERM", "SIGINT", "SIGTERM", "SIGINT", "SIGTERM"] as const) {
    try {
      process.kill(gateway.pid, signal);
    } catch {
      return; // it has ended
    }
    await wait(250);
  }
}

/** Serves under load until the group gets SIGTERM. */
async function stopUnderLoad(gateway: GatewayProcess): Promise<Outcome[]> {
  // after its first row, the part that stores rows has started too
  const first = await ask(gateway, key);
  await eventually("the first row", async () => (await readTraces(gateway, key)).has(first.traceId));
  const load = askInLoops(gateway, key, loops);
  const open = Array.from({ length: streams }, (_, index) => ask(gateway, key, { streamMs: 1_000 + index * 200 }));
  await wait(500);
  const signalled = signalAgain(gateway);
  const outcomes = await within("the load to end", 60_000, Promise.all([load, ...open]));
  await signalled;
  const ending = await within("the end", 40_000, gateway.ended);
  assert.deepEqual(ending, { code: 0, signal: null }, gateway.output());
  const streamed = outcomes.slice(1).flat();
  assert.deepEqual(
    streamed.filter(({ isWhole }) => !isWhole),
    [],
    `streams were cut; it printed:\n${gateway.output()}`,
  );
  return [first, ...outcomes.flat()];
}

/** Resolves when nothing answers any more. */
async function waitForEnd(url: string): Promise<void> {
  for (;;) {
    try {
      await (await fetch(`${url}/health`)).text();
      await wait(50);
    } catch {
      return;
    }
  }
}

/** Requires a row of each response, and none of a request that got no whole response. */
async function requireRows(gateway: GatewayProcess, outcomes: readonly Outcome[]): Promise<void> {
  const traces = await readTraces(gateway, key);
  const lost = outcomes.filter(({ isWhole, traceId }) => isWhole && !traces.has(traceId));
  const cut = outcomes.filter(({ isWhole, traceId }) => !isWhole && traces.has(traceId));
  assert.deepEqual({ lost, cut }, { lost: [], cut: [] });
}

test(`SIGTERM to the group under load, repeated: ${rounds} times no response is cut and no row lost`, {
  skip,
  timeout,
}, async () => {
  const folder = createFolder();
  const all: Outcome[] = [];
  for (let round = 0; round < rounds; round++) {
    const gateway = await startGatewayProcess({ cwd: folder, leadsGroup: true });
    let outcomes: Outcome[];
    try {
      outcomes = await stopUnderLoad(gateway);
    } finally {
      await gateway.stop("SIGKILL");
    }
    all.push(...outcomes);
    assert.deepEqual(listDatabaseFiles(folder), ["gateway.db"]);
    assert.equal((statSync(join(folder, "data/gateway.db")).mode & 0o777).toString(8), "600");
    const isCopied = round < copies;
    const cwd = isCopied ? copyStopped(folder) : folder;
    await withGateway({ cwd }, (next) => requireRows(next, isCopied ? all : outcomes));
  }
  const refused = all.filter(({ isWhole }) => !isWhole);
  console.log(
    `# ${runtime}: ${rounds} stops, ${all.length - refused.length} whole responses and as many rows, ${refused.length} connections refused, ${copies} copies restored`,
  );
});

test("a stream that begins after SIGTERM, while connections are still accepted, is not cut", {
  skip: skip || (runtime === "deno" && "deno serve accepts no connections after SIGTERM"),
}, async () => {
  await withGateway({}, async (gateway) => {
    assert.equal((await ask(gateway, key)).isWhole, true);
    process.kill(gateway.pid, "SIGTERM");
    await wait(200);
    const stream = await ask(gateway, key, { streamMs: 2_500 });
    assert.deepEqual([stream.isWhole, stream.problem], [true, ""]);
    assert.deepEqual(await within("the end", 20_000, gateway.ended), { code: 0, signal: null });
  });
});

/** Stops a gateway in a terminal with Ctrl-C, as `script` provides one. */
class Terminal {
  readonly #child: ChildProcess;
  #printed = "";
  readonly ended: Promise<number | null>;

  constructor(command: readonly string[], cwd: string) {
    const quoted = ["exec", ...command.map((word) => `'${word}'`)].join(" ");
    const env = {
      PATH: process.env.PATH,
      PORT: "0",
      BOOTSTRAP_WORKSPACE_KEY: key,
      BOOTSTRAP_ADMIN_KEY: "fake-admin-key-for-tests",
    };
    this.#child = spawn("script", ["-qec", quoted, "/dev/null"], { cwd, env, stdio: ["pipe", "pipe", "inherit"] });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#printed += text;
    });
    this.ended = new Promise((resolve) => this.#child.once("close", resolve));
  }

  url(): Promise<string> {
    return waitFor("the gateway to serve", 120_000, () => /serving on (http:\/\/[\w.:]+)/.exec(this.#printed)?.[1]);
  }

  interrupt(): void {
    this.#child.stdin?.write("\x03");
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

const hasScript = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;
const skipTerminal = !hasScript && "there is no program `script`";

test("Ctrl-C in a terminal lets a stream finish", { skip: skipTerminal }, async () => {
  const folder = createFolder();
  const terminal = new Terminal(runtimeCommand("mod.ts", "serve"), folder);
  try {
    const gateway = { url: await terminal.url() };
    assert.equal((await ask(gateway, key)).isWhole, true);
    const stream = ask(gateway, key, { streamMs: 2_500 });
    await wait(500);
    terminal.interrupt();
    const outcome = await stream;
    assert.deepEqual([outcome.isWhole, outcome.problem], [true, ""]);
    assert.equal(await within("the end", 20_000, terminal.ended), 0);
    assert.deepEqual(listDatabaseFiles(folder), ["gateway.db"]);
  } finally {
    terminal.kill();
  }
});

test("a second Ctrl-C ends a stream at once, and its row is stored", { skip: skipTerminal }, async () => {
  const folder = createFolder();
  const terminal = new Terminal(runtimeCommand("mod.ts", "serve"), folder);
  let cut: Outcome[];
  try {
    const gateway = { url: await terminal.url() };
    assert.equal((await ask(gateway, key)).isWhole, true);
    const stream = ask(gateway, key, { streamMs: 25_000 });
    const call = ask(gateway, key, { delayMs: 25_000 });
    await wait(500);
    terminal.interrupt();
    await wait(1_000);
    terminal.interrupt();
    const startedAt = performance.now();
    assert.equal(await within("the end", 20_000, terminal.ended), 0);
    console.log(`# ${runtime}: ended ${Math.round(performance.now() - startedAt)} ms after a second Ctrl-C`);
    cut = await Promise.all([stream, call]);
    assert.deepEqual(
      cut.map(({ isWhole }) => isWhole),
      [false, false],
    );
  } finally {
    terminal.kill();
  }
  assert.deepEqual(listDatabaseFiles(folder), ["gateway.db"]);
  await withGateway({ cwd: folder }, async (next) => {
    const traces = await readTraces(next, key);
    assert.deepEqual(
      cut.filter(({ traceId }) => !traces.has(traceId)),
      [],
    );
  });
});

test("two processes of one file: the last that stops leaves one file", { skip }, async () => {
  const folder = createFolder();
  const env = { WORKERS: "2", DRAIN_SECONDS: "300" };
  await withGateway({ cwd: folder, env }, (one) =>
    withGateway({ cwd: folder, env }, async (two) => {
      const asked = await Promise.all([one, two].map((gateway) => ask(gateway, key)));
      // it does not wait for the other one, which goes on: DRAIN_SECONDS is longer than a test may take
      assert.deepEqual(await one.stop(), { code: 0, signal: null });
      asked.push(await ask(two, key));
      assert.deepEqual(await two.stop(), { code: 0, signal: null });
      assert.deepEqual(listDatabaseFiles(folder), ["gateway.db"]);
      await withGateway({ cwd: copyStopped(folder) }, (next) => requireRows(next, asked));
    }),
  );
});

test("npm start: SIGTERM to all of its processes, repeated, cuts no stream", {
  skip: skip || (runtime !== "bun" && "it starts Bun"),
}, async () => {
  const folder = createFolder();
  const env = { DATABASE_URL: `file:${folder}/data/gateway.db`, GATEWAY_MASTER_KEYS: masterKeys };
  const command = ["npm", "start", "--silent"];
  const gateway = await startGatewayProcess({ cwd: repository, env, command, leadsGroup: true });
  let stream: Outcome;
  try {
    const open = ask(gateway, key, { streamMs: 2_500 });
    await wait(500);
    await signalAgain(gateway);
    stream = await open;
    await within("the end", 20_000, waitForEnd(gateway.url));
  } finally {
    await gateway.stop("SIGKILL");
  }
  assert.deepEqual([stream.isWhole, stream.problem], [true, ""]);
  assert.deepEqual(listDatabaseFiles(folder), ["gateway.db"]);
  await withGateway({ cwd: repository, env }, (next) => requireRows(next, [stream]));
});
