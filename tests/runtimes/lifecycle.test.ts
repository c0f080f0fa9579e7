import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, cpSync, existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { createClient } from "@libsql/client";
import {
  createFolder,
  fakeWorkspaceKey,
  type GatewayProcess,
  runtime,
  startAndFail,
  startGatewayProcess,
  waitFor,
  withGateway,
  within,
} from "../support/process.ts";
import { sendPlain, startServer } from "../support/upstream.ts";

const chatBody = (extra: object = {}) =>
  JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "one two three" }], ...extra });

/** A chat with the echo provider, or another when headers say so. */
function chat(
  gateway: GatewayProcess,
  options: { headers?: Record<string, string>; stream?: boolean; key?: string } = {},
) {
  return fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-gateway-api-key": options.key ?? gateway.workspaceKey,
      "x-gateway-provider": "echo",
      ...options.headers,
    },
    body: chatBody(options.stream ? { stream: true } : {}),
  });
}

/** Status of a log row's route: 200 when the row is there. */
async function readLog(
  gateway: GatewayProcess,
  id: string | null,
): Promise<{ status: number; row: { status?: number } }> {
  const response = await fetch(`${gateway.url}/v1/logs/${id}`, {
    headers: { "x-gateway-api-key": gateway.workspaceKey },
  });
  return { status: response.status, row: await response.json() };
}

/** Runs a command; rejects unless it ends with 0. */
function run(file: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(file, args, { cwd, env: { PATH: process.env.PATH } }, (error, stdout) =>
      error ? reject(error) : resolve(stdout),
    );
  });
}

/** Permissions of a file, as `ls` counts them. */
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

const hasModes = process.platform !== "win32";
const noKeys = { BOOTSTRAP_WORKSPACE_KEY: undefined, BOOTSTRAP_ADMIN_KEY: undefined };

test("the first start leaves its keys in a file of the owner and prints a command that works", {
  skip: !hasModes,
}, async () => {
  const folder = createFolder();
  const keys = await withGateway({ cwd: folder, env: noKeys }, async (gateway) => {
    await waitFor("the whole banner", 5_000, () => /\n {2}-d .+\n/.test(gateway.output()));
    assert.match(gateway.output(), /^AI gateway serving on http:\/\/127\.0\.0\.1:\d+$/m);
    const path = join(folder, "data/first-keys");
    assert.match(gateway.output(), /^First keys are in data\/first-keys$/m);
    assert.equal(modeOf(path), "600");
    assert.equal(modeOf(join(folder, "data/master.keys")), "600");
    assert.equal(modeOf(join(folder, "data")), "700");
    const text = readFileSync(path, "utf8");
    const [, adminKey = ""] = /^admin key: (gk_\S+)$/m.exec(text) ?? [];
    const [, workspaceKey = ""] = /^workspace key: (gk_\S+)$/m.exec(text) ?? [];
    assert.ok(adminKey && workspaceKey, text);
    assert.ok(!gateway.output().includes(workspaceKey) && !gateway.output().includes(adminKey));
    const [command = ""] = /^curl (?:.+\\\n)+.+$/m.exec(gateway.output()) ?? [];
    const answer = JSON.parse(await run("bash", ["-c", command], folder));
    assert.equal(answer.choices[0].message.content, "Hello");
    await gateway.stop();
    return { adminKey, workspaceKey };
  });
  await withGateway({ cwd: folder, env: noKeys }, async (gateway) => {
    assert.doesNotMatch(gateway.output(), /key|curl/i);
    assert.equal((await chat(gateway, { key: keys.workspaceKey })).status, 200);
    assert.equal((await chat(gateway, { key: keys.adminKey })).status, 403);
    const logs = await fetch(`${gateway.url}/v1/logs`, { headers: { "x-gateway-api-key": keys.adminKey } });
    assert.equal(logs.status, 200);
    assert.ok((await logs.json()).data.length > 0, "the first start's row is gone");
  });
});

test("a start with another database leaves the first keys of the folder alone", { skip: !hasModes }, async () => {
  const folder = createFolder();
  const keysOf = (path: string) => /^workspace key: (gk_\S+)$/m.exec(readFileSync(join(folder, path), "utf8"))?.[1];
  const start = (url?: string) =>
    withGateway({ cwd: folder, env: { ...noKeys, DATABASE_URL: url } }, async (gateway) => {
      await waitFor("the whole banner", 5_000, () => /\n {2}-d .+\n/.test(gateway.output()));
      const [command = ""] = /^curl (?:.+\\\n)+.+$/m.exec(gateway.output()) ?? [];
      const answer = JSON.parse(await run("bash", ["-c", command], folder));
      assert.equal(answer.choices[0].message.content, "Hello");
      await gateway.stop();
      return gateway.output();
    });
  assert.doesNotMatch(await start(), /new installation/);
  const first = keysOf("data/first-keys");
  assert.match(await start(":memory:"), /^admin key: gk_\S+\nworkspace key: gk_\S+$/m);
  const printed = await start("file:data/other.db");
  assert.match(printed, /^First keys are in data\/other\.db-first-keys$/m);
  // the master keys were there
  assert.match(printed, /^This is a new installation: the database data\/other\.db was empty.+data\/master\.keys.+$/m);
  await start("file:elsewhere/gateway.db");
  assert.ok(keysOf("elsewhere/first-keys") && existsSync(join(folder, "elsewhere/master.keys")));
  assert.equal(keysOf("data/first-keys"), first);
  rmSync(join(folder, "data/gateway.db"));
  assert.match(
    await start(),
    /^First keys are in data\/first-keys-2; data\/first-keys has the keys of another database$/m,
  );
  assert.equal(keysOf("data/first-keys"), first);
});

test("chosen bootstrap keys work after a restart and are written nowhere", async () => {
  const folder = createFolder();
  await withGateway({ cwd: folder }, async (gateway) => {
    assert.equal((await chat(gateway)).status, 200);
    assert.equal(existsSync(join(folder, "data/first-keys")), false);
    assert.ok(!gateway.output().includes(fakeWorkspaceKey));
  });
  // a changed variable does not change the keys of a database in use
  await withGateway(
    { cwd: folder, env: { BOOTSTRAP_WORKSPACE_KEY: "another-fake-key-for-tests" } },
    async (gateway) => {
      assert.equal((await chat(gateway, { key: fakeWorkspaceKey })).status, 200);
      assert.equal((await chat(gateway, { key: "another-fake-key-for-tests" })).status, 401);
    },
  );
});

let used: Promise<string> | undefined;

/** A folder in which a gateway has run. */
async function createUsedFolder(): Promise<string> {
  used ??= withGateway({}, async (gateway) => {
    await gateway.stop();
    return gateway.folder;
  });
  const folder = createFolder();
  cpSync(await used, folder, { recursive: true });
  return folder;
}

/** Starts that must be refused, each with what the message has to name. */
const refusals: Readonly<
  Record<string, { env?: Record<string, string>; names: RegExp; prepare?(folder: string): void }>
> = {
  "a master keys file that others can read": {
    prepare: (folder) => chmodSync(join(folder, "data/master.keys"), 0o644),
    names: /data\/master\.keys.*chmod 600/,
  },
  "a used database without its master keys": {
    prepare: (folder) => rmSync(join(folder, "data/master.keys")),
    names: /master keys.*GATEWAY_MASTER_KEYS/,
  },
  "a named master keys file that is not there": {
    env: { GATEWAY_MASTER_KEYS_FILE: "elsewhere/master.keys" },
    names: /GATEWAY_MASTER_KEYS_FILE/,
  },
  "foreign master keys": {
    env: { GATEWAY_MASTER_KEYS: `v1:${Buffer.from("0123456789abcdef0123456789ABCDEF").toString("base64url")}` },
    names: /master key/,
  },
  "short master keys": { env: { GATEWAY_MASTER_KEYS: "v1:c2hvcnQ" }, names: /master key/ },
  "a short bootstrap key": { env: { BOOTSTRAP_WORKSPACE_KEY: "short-key" }, names: /BOOTSTRAP_WORKSPACE_KEY/ },
  "an empty bootstrap key": { env: { BOOTSTRAP_ADMIN_KEY: "" }, names: /BOOTSTRAP_ADMIN_KEY/ },
  "a database file without tables": {
    // what a copy of a database in use has without its write-ahead log
    prepare(folder) {
      const path = join(folder, "data/gateway.db");
      const page = readFileSync(path).subarray(0, 4_096);
      page.fill(0, 100);
      // an empty page of a table, and one page in all
      page.set([13, 0, 0, 0, 0, 16, 0, 0], 100);
      page.set([0, 0, 0, 1], 28);
      writeFileSync(path, page);
    },
    names: /^Cannot use the database data\/gateway\.db \(DATABASE_URL\): it has no tables; .+gateway\.db-wal.+\n$/,
  },
  "a damaged database file": {
    prepare: (folder) =>
      writeFileSync(join(folder, "data/gateway.db"), "no database at all, but long enough".repeat(200)),
    names: /^Cannot open the database data\/gateway\.db \(DATABASE_URL\): it is damaged; .+operations\.md\)\n$/,
  },
  "a database file of half its size": {
    prepare(folder) {
      const path = join(folder, "data/gateway.db");
      truncateSync(path, statSync(path).size / 2);
    },
    names: /^Cannot open the database data\/gateway\.db \(DATABASE_URL\): it is damaged; .+operations\.md\)\n$/,
  },
  "a database file in a folder that cannot be": {
    env: { DATABASE_URL: "file:/dev/null/gateway.db" },
    names: /^Cannot (?:write|open) .*\/dev\/null\/.+ \(DATABASE_URL\): .*ENOTDIR.*\n$/,
  },
  "a database server that is away": {
    env: {
      DATABASE_URL: "http://user:fake-password-elsewhere@127.0.0.1:9/path?token=elsewhere",
      GATEWAY_MASTER_KEYS: `v1:${Buffer.from("0123456789abcdef0123456789ABCDEF").toString("base64url")}`,
    },
    names: /^Cannot open the database http:\/\/127\.0\.0\.1:9\/path \(DATABASE_URL\): (?!.*fake-password).+\n$/,
  },
  "a database of another kind": {
    env: { DATABASE_URL: "postgres://user:elsewhere@localhost/db" },
    names: /^Cannot use DATABASE_URL: postgres is not supported; .+libsql.+\n$/,
  },
  "a bad PORT": { env: { PORT: "eighty" }, names: /PORT/ },
  "a bad DRAIN_SECONDS": { env: { DRAIN_SECONDS: "-1" }, names: /DRAIN_SECONDS/ },
};

test("a port that is taken stops the start with a message", {
  skip: runtime === "deno" && "deno serve has the port",
}, async () => {
  const taken = await startServer((_request, response) => response.end());
  try {
    const { code, output } = await startAndFail({ env: { PORT: String(taken.port) } });
    assert.equal(code, 1, output);
    assert.match(output, new RegExp(`${taken.port}`));
    assert.doesNotMatch(output, /\n\s+at |node_modules|\.ts:\d/, "it printed a stack");
  } finally {
    await taken.close();
  }
});

for (const [name, { env = {}, names, prepare }] of Object.entries(refusals)) {
  test(`${name} stops the start with a message`, { skip: !hasModes }, async () => {
    const folder = prepare || name === "foreign master keys" ? await createUsedFolder() : createFolder();
    prepare?.(folder);
    const { code, output } = await startAndFail({ cwd: folder, env });
    assert.equal(code, 1, output);
    assert.match(output, names);
    assert.doesNotMatch(output, /\n\s+at |node_modules|\.ts:\d/, "it printed a stack");
    assert.doesNotMatch(output, /serving on/);
    for (const value of Object.values(env))
      assert.ok(value.length < 8 || /elsewhere/.test(value) || !output.includes(value), "a value is shown");
  });
}

/** Status of `/ready`, over a separate connection. `deno serve` accepts none during shutdown, which counts as 503. */
async function readiness(gateway: GatewayProcess): Promise<number> {
  try {
    return (await sendPlain(`${gateway.url}/ready`)).status;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (runtime === "deno" && ["ECONNREFUSED", "ECONNRESET", "EPIPE"].includes(String(code))) return 503;
    throw error;
  }
}

test("SIGTERM: not ready at once, a slow request and a stream finish, their rows are stored, exit 0", async () => {
  const folder = createFolder();
  const gateway = await startGatewayProcess({ cwd: folder });
  try {
    assert.equal(await readiness(gateway), 200);
    const slow = chat(gateway, { headers: { "x-gateway-echo-delay-ms": "1800" } });
    slow.catch(() => {});
    const stream = await chat(gateway, {
      stream: true,
      headers: { "x-gateway-echo-delay-ms": "2400", "x-gateway-echo-chunks": "6" },
    });
    await new Promise((resolve) => setTimeout(resolve, 200)); // the slow request is inside by now
    process.kill(gateway.pid, "SIGTERM");
    const deadline = performance.now() + 900;
    while ((await readiness(gateway)) !== 503) assert.ok(performance.now() < deadline, "still ready");
    const text = await stream.text();
    assert.match(text, /data: \[DONE\]\n\n$/);
    const answer = await slow;
    assert.equal(answer.status, 200);
    assert.equal((await answer.json()).choices[0].message.content, "one two three");
    assert.deepEqual(await within("the end", 5_000, gateway.ended), { code: 0, signal: null });
    await withGateway({ cwd: folder }, async (next) => {
      for (const { headers } of [answer, stream]) {
        const { status, row } = await readLog(next, headers.get("x-gateway-request-id"));
        assert.deepEqual({ status, logged: row.status }, { status: 200, logged: 200 }, gateway.output());
      }
    });
  } finally {
    await gateway.stop("SIGKILL");
  }
});

/** An upstream whose stream never ends. */
function startEndlessUpstream() {
  const chunk = {
    id: "c",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta: { content: "more" } }],
  };
  return startServer((message, response) => {
    message.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    const timer = setInterval(() => response.write(`data: ${JSON.stringify(chunk)}\n\n`), 50);
    message.socket.once("close", () => clearInterval(timer));
  });
}

/** Runs a test with a stream that does not end by itself. */
async function withEndlessStream(
  drainSeconds: number,
  use: (gateway: GatewayProcess, stream: Response) => Promise<void>,
): Promise<void> {
  const upstream = await startEndlessUpstream();
  try {
    await withGateway({ env: { DRAIN_SECONDS: String(drainSeconds) } }, async (gateway) => {
      const headers = { "x-gateway-provider": "openai", "x-gateway-custom-host": `${upstream.url}/v1` };
      const stream = await chat(gateway, { stream: true, headers });
      assert.equal(stream.status, 200);
      await use(gateway, stream);
    });
  } finally {
    await upstream.close();
  }
}

test("a stream that outlasts DRAIN_SECONDS gets one error event and no [DONE], exit 0", async () => {
  await withEndlessStream(1, async (gateway, stream) => {
    const text = stream.text();
    await new Promise((resolve) => setTimeout(resolve, 200));
    process.kill(gateway.pid, "SIGTERM");
    const events = (await within("the end of the stream", 8_000, text)).split("\n\n").filter((block) => block !== "");
    assert.ok(events.length > 2);
    assert.deepEqual(
      events.flatMap((event, index) =>
        event.startsWith('data: {"error"') || event.includes('"error":{') ? [index] : [],
      ),
      [events.length - 1],
      "not exactly one error event at the end",
    );
    assert.ok(!events.some((event) => event.includes("[DONE]")));
    assert.deepEqual(await within("the end", 5_000, gateway.ended), { code: 0, signal: null });
  });
});

/** Chats in loops until the gateway goes away. Answers carry the time they were complete at. */
async function chatInLoops(gateway: GatewayProcess, loops: number): Promise<{ id: string; answeredAt: number }[]> {
  const answers: { id: string; answeredAt: number }[] = [];
  const loop = async () => {
    for (;;) {
      const response = await chat(gateway);
      await response.arrayBuffer();
      assert.equal(response.status, 200);
      answers.push({ id: response.headers.get("x-gateway-request-id") ?? "", answeredAt: performance.now() });
    }
  };
  await Promise.allSettled(Array.from({ length: loops }, loop));
  return answers;
}

/** Waits until a request's row is stored. After the first one, the part that stores rows has started too. */
async function waitForRow(gateway: GatewayProcess, id: string | null): Promise<void> {
  const deadline = performance.now() + 10_000;
  while ((await readLog(gateway, id)).status !== 200) assert.ok(performance.now() < deadline, "the row is not stored");
}

/**
 * Slowest time from a response to its stored row while a gateway is under load, in milliseconds. It is that of the machine as
 * much as of the gateway: a test that measures it beside what it tests is decided by neither.
 */
async function measureStoring(gateway: GatewayProcess, forMs: number): Promise<number> {
  const end = performance.now() + forMs;
  let slowest = 0;
  while (performance.now() < end) {
    const response = await chat(gateway);
    const answeredAt = performance.now();
    await waitForRow(gateway, response.headers.get("x-gateway-request-id"));
    slowest = Math.max(slowest, performance.now() - answeredAt);
  }
  return slowest;
}

/** Ids that have no row. */
async function findMissing(gateway: GatewayProcess, ids: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  const waiting = [...ids];
  const work = async () => {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      if ((await readLog(gateway, id)).status !== 200) missing.push(id);
    }
  };
  await Promise.all(Array.from({ length: 32 }, work));
  return missing;
}

test("kill -9 under load loses only rows of the last moment and breaks nothing", async () => {
  const folder = createFolder();
  const gateway = await startGatewayProcess({ cwd: folder });
  let killedAt = 0;
  try {
    await chat(gateway).then((response) => waitForRow(gateway, response.headers.get("x-gateway-request-id")));
    const work = chatInLoops(gateway, 64);
    const momentMs = Math.max(500, 2 * (await measureStoring(gateway, 2_500)));
    // on a busy machine the moment is long, and answers before it are needed
    await new Promise((resolve) => setTimeout(resolve, momentMs));
    killedAt = performance.now();
    await gateway.stop("SIGKILL");
    const answers = await work;
    assert.ok(answers.length > 100, `only ${answers.length} answers`);
    await withGateway({ cwd: folder }, async (next) => {
      const database = createClient({ url: `file:${join(folder, "data/gateway.db")}`, timeout: 5_000 });
      const { rows } = await database.execute("PRAGMA integrity_check");
      database.close();
      assert.equal(rows[0]?.[0], "ok");
      const lost = new Set(
        await findMissing(
          next,
          answers.map(({ id }) => id),
        ),
      );
      // rows are stored in order: those that were lost are the last ones, however long the machine took to store rows
      const newest = Math.max(...answers.filter(({ id }) => !lost.has(id)).map(({ answeredAt }) => answeredAt));
      const missing = answers.filter(({ id, answeredAt }) => lost.has(id) && answeredAt < newest - momentMs);
      console.log(
        `# ${runtime}: ${answers.length} answers, ${lost.size} lost, all rows stored but those of the last ${Math.round(killedAt - newest)} ms`,
      );
      assert.ok(lost.size < answers.length / 2, `${lost.size} of ${answers.length} rows were lost`);
      assert.deepEqual(missing, []);
      assert.equal((await chat(next)).status, 200);
    });
  } finally {
    await gateway.stop("SIGKILL");
  }
});
