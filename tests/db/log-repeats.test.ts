// Bodies that repeat what earlier requests of the tenant had: they are stored once, and read as they were sent.

import assert from "node:assert/strict";
import { test } from "node:test";
import { openDatabase } from "../../src/db/client.ts";
import { migrate } from "../../src/db/migrate.ts";
import { createLogObjectStore } from "../../src/db/stores/log-objects.ts";
import { createLogStore, type TextCodec } from "../../src/db/stores/logs.ts";
import { createIdFactory } from "../../src/lib/ids.ts";
import { createValueMask } from "../../src/lib/secret-values.ts";
import { LogOffload } from "../../src/logs/index/offload.ts";
import { packRecords } from "../../src/logs/pack.ts";
import { createRedactor } from "../../src/logs/redact.ts";
import { sealBatch } from "../../src/logs/seal.ts";
import { masked } from "../../src/logs/secret-members.ts";
import { zstdCodec } from "../../src/serve/text-codec.ts";
import { createRandom } from "../support/gateway.ts";
import { purge } from "../support/log-lists.ts";
import { plainDetails } from "../support/log-record.ts";
import { runtime } from "../support/process.ts";
import { isWhole, rounds, sampleSeed } from "../support/sample.ts";

const minuteMs = 60_000;
const redactor = createRedactor({ mac: () => "", keyPrefix: "gk", sensitiveNames: [], aliasPrefixes: [] });

/** Bodies of one request. */
type Sent = readonly [request: string, response: string];
type Log = Awaited<ReturnType<typeof openLog>>;

async function openLog(codec: TextCodec = zstdCodec) {
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  const objects = new Map<string, Uint8Array>();
  const objectStore = {
    put: async (name: string, content: Uint8Array) => void objects.set(name, Uint8Array.from(content)),
    async get(name: string, wanted: { start: number; bytes: number } | object) {
      const found = objects.get(name);
      if (!found || !("start" in wanted)) throw new Error(`no object ${name}`);
      return found.slice(wanted.start, wanted.start + wanted.bytes);
    },
    remove: async (name: string) => void objects.delete(name),
  };
  let now = Date.UTC(2026, 0, 1);
  const createId = createIdFactory(() => now);
  let shownSince = 0;
  const open = () => createLogStore(database, codec, objectStore, () => shownSince);
  let store = open();
  return {
    database,
    objects,
    now: () => now,
    later(ms: number) {
      now += ms;
    },
    /** Contents of requests before are past their time. */
    hideBefore(time: number) {
      shownSince = time;
    },
    /** Another process: it remembers nothing. */
    restart() {
      store = open();
    },
    /** Stores requests as one batch, and returns their ids. */
    async append(
      sent: readonly Sent[],
      workspaceId = "w",
      secretsOf: (index: number) => readonly string[] = () => [],
    ): Promise<string[]> {
      const headers = { sensitiveHeaders: [], requestHeaders: { "x-turn": "1" }, responseHeaders: {} };
      const records = sent.map(([requestBody, responseBody], index) => ({
        details: { ...plainDetails, id: createId(), workspace_id: workspaceId },
        content: { ...headers, requestBody, responseBody },
        secrets: secretsOf(index),
      }));
      const packed = await packRecords(records, redactor);
      await store.append(packed.map((batch) => sealBatch(batch, redactor)));
      return records.map(({ details }) => details.id);
    },
    async read(id: string, workspaceId = "w"): Promise<(string | null)[] | null> {
      const found = await store.find({ organisationId: "o", workspaceId }, id);
      return found?.content ? [found.content.request.body, found.content.response.body] : null;
    },
    /** Contents of all batches as exports read them: whether each is shown. */
    async areShown(workspaceId = "w"): Promise<boolean[]> {
      const { rows } = await database.read("SELECT seq FROM log_batches ORDER BY seq");
      const scope = { organisationId: "o", workspaceId };
      const read = await Promise.all(rows.map(({ seq }) => store.readContents(scope, Number(seq))));
      return read.flatMap((contents) => [...contents.values()].map((content) => content !== null));
    },
    /** Bytes of each batch's contents. */
    async sizes(): Promise<number[]> {
      const sql = "SELECT octet_length(content) AS bytes FROM log_bodies ORDER BY seq";
      return (await database.read(sql)).rows.map(({ bytes }) => Number(bytes));
    },
    /** Moves all contents to the object store. */
    async moveAll() {
      const offload = new LogOffload(createLogObjectStore(database), objectStore, { now: () => now, createId });
      while (await offload.step());
      now += 6 * minuteMs;
      while (await offload.step());
    },
  };
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz     \n{}:,"\\ä⚓🜁é0123456789';
const letters = [...alphabet];

function drawText(random: () => number, length: number): string {
  let text = "";
  while (text.length < length) text += letters[Math.floor(random() * letters.length)] ?? "";
  return text;
}

/** Requests of a session: each repeats the conversation, of which a client may change or drop something on the way. */
function drawSession(random: () => number): Sent[] {
  const below = (limit: number) => Math.floor(random() * limit);
  const messages: string[] = [drawText(random, below(12_000))];
  return Array.from({ length: 2 + below(5) }, (_, turn): Sent => {
    messages.push(drawText(random, below(9_000)));
    if (random() < 0.2) messages.splice(below(messages.length), 1);
    if (random() < 0.2) messages[below(messages.length)] = drawText(random, below(3_000));
    const body = JSON.stringify({ turn, messages, tools: [messages[0]] });
    return [body, random() < 0.3 ? body.slice(below(100)).toWellFormed() : drawText(random, below(6_000))];
  });
}

/** Sessions with one database. */
const together = 100;
const sessions = Number(process.env.GATEWAY_SESSIONS ?? (isWhole && runtime === "bun" ? 10_000 : rounds(together)));

/** Stores sessions and reads them again, some after a restart, the last of them also from an object store. */
async function storeAndRead(random: () => number, count: number, isLast: boolean): Promise<void> {
  const log = await openLog();
  const expected: [string, Sent, string][] = [];
  for (let session = 0; session < count; session++) {
    const workspace = random() < 0.5 ? "w" : "w2";
    const turns = random() < 0.5 ? drawSession(random) : drawAgentSession(random, []).map((body): Sent => [body, "{}"]);
    while (turns.length > 0) {
      const batch = turns.splice(0, 1 + Math.floor(random() * 2));
      const ids = await log.append(batch, workspace);
      for (const [index, sent] of batch.entries()) expected.push([ids[index] ?? "", sent, workspace]);
    }
    if (random() < 0.02) log.restart();
  }
  const check = async () => {
    for (const [index, [id, sent, workspace]] of expected.entries()) {
      const read = JSON.stringify(await log.read(id, workspace));
      assert.ok(read === JSON.stringify(sent), `request ${index} of seed ${sampleSeed}`);
    }
  };
  await check();
  if (isLast) {
    await log.moveAll();
    assert.deepEqual(await log.sizes(), []);
    await check();
  }
  await log.database.close();
}

test(`${sessions} random sessions are read as they were sent, after a restart and from an object store too`, {
  timeout: 1_800_000,
}, async () => {
  const random = createRandom(sampleSeed);
  for (let left = sessions; left > 0; left -= together) {
    await storeAndRead(random, Math.min(left, together), left <= together);
  }
});

const fakeKey = "sk-fake-0123456789abcdefghijkl";
const credentials = ["credential-of-a-row", 'odd"credential\\of', "{brackets}of,a:row", '},{"role":"user"'];
/** What is masked, and what looks nearly like it. */
const delicate = [
  fakeKey,
  ...credentials,
  '"password": "secret value", "next": 1',
  '"api_key":["one secret","another"],"token":',
  '\\"api_key\\": \\"a secret\\"}],',
  "-----BEGIN RSA PRIVATE KEY-----\nMIIEfake\nMIIEfake",
  "-----END RSA PRIVATE KEY-----",
  "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJmYWtlIn0.c2lnbmF0dXJl",
  "\u0000 data: {",
];

/** Requests as agents send them, some of which are cut, or no JSON. */
function drawAgentSession(random: () => number, planted: readonly string[]): string[] {
  const below = (limit: number) => Math.floor(random() * limit);
  const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item; // there are some
  const text = () =>
    drawText(random, below(3_000)) +
    (planted.length > 0 && random() < 0.3 ? pick(planted) : "") +
    drawText(random, below(40));
  const named = () => ({
    [pick(planted.length > 0 ? ["password", "token", "api_key", "name"] : ["title", "name"])]: pick([
      text(),
      [text(), "x"],
      { text: text() },
    ]),
  });
  const message = () => ({
    role: "user",
    content: pick([text(), [{ type: "text", text: text() }, named()]]),
    ...(random() < 0.2 && named()),
  });
  const messages = Array.from({ length: 3 + below(5) }, message);
  return Array.from({ length: 2 + below(4) }, (_, turn) => {
    messages.push(...Array.from({ length: 1 + below(4) }, message));
    if (random() < 0.2) messages[below(messages.length)] = message();
    const whole = {
      model: "m",
      ...(random() < 0.2 && named()),
      messages,
      tools: [{ name: "read", input: named() }],
      turn,
    };
    const body = random() < 0.1 ? JSON.stringify(whole, null, 2) : JSON.stringify(whole);
    if (random() < 0.05) return body.replace(pick(['"', "}", ","]), "");
    return random() < 0.05 ? body.slice(0, below(body.length)).toWellFormed() : body;
  });
}

test("of long bodies the same is masked, whatever of them the log has already", async () => {
  const random = createRandom(sampleSeed);
  const log = await openLog();
  const count = rounds(40);
  for (let session = 0; session < count; session++) {
    const secrets = random() < 0.5 ? credentials.slice(0, 1 + Math.floor(random() * 4)) : [];
    for (const body of drawAgentSession(random, delicate)) {
      const sent: Sent[] = [
        [body, "{}"],
        [body, body],
      ];
      const ids = await log.append(sent, "w", () => secrets);
      const value = createValueMask(secrets, () => masked);
      const shown = redactor.text(value.mask(body)).replaceAll("\0", "\\u0000");
      for (const [index, id] of ids.entries()) {
        const read = await log.read(id);
        assert.ok(read?.[0] === shown, `session ${session} of seed ${sampleSeed}`);
        assert.ok(read?.[1] === (index === 0 ? "{}" : shown), `session ${session} of seed ${sampleSeed}`);
      }
    }
  }
  await log.database.close();
});

test("messages of a long body that the log has are neither masked nor digested part by part again", async () => {
  let [texts, spans] = [0, 0];
  const log = await openLog({
    ...zstdCodec,
    digest(key, text) {
      if (typeof text === "string") texts += text.length;
      else spans += text.length;
      return zstdCodec.digest?.(key, text) ?? "";
    },
  });
  const message = (turn: number) => ({ role: "user", content: drawText(createRandom(turn), 8_000) });
  const messages = Array.from({ length: 10 }, (_, turn) => message(turn));
  await log.append([[JSON.stringify({ messages, turn: 1 }), "{}"]]);
  messages.push(message(10));
  [texts, spans] = [0, 0];
  const body = JSON.stringify({ messages, turn: 2 });
  const [id = ""] = await log.append([[body, "{}"]]);
  assert.ok(spans >= 80_000 && texts < 20_000, `${spans} bytes of spans, ${texts} characters of parts`);
  assert.deepEqual(await log.read(id), [body, "{}"]);
  await log.database.close();
});

test("what requests with other credentials have stored is not referred to", async () => {
  const log = await openLog();
  const body = JSON.stringify({
    messages: Array.from({ length: 8 }, () => ({ content: `my-own-credential ${"x".repeat(4_000)}` })),
  });
  const [first = ""] = await log.append([[body, "{}"]]);
  const [second = ""] = await log.append([[body, "{}"]], "w", () => ["my-own-credential"]);
  assert.deepEqual((await log.read(first))?.[0], body);
  assert.deepEqual((await log.read(second))?.[0], body.replaceAll("my-own-credential", masked));
  await log.database.close();
});

/** Requests of a session that only grows: text that compresses as poorly as digits. */
function growingSession(turns: number, turnBytes = 8_000): Sent[] {
  const random = createRandom(7);
  const messages: string[] = [];
  return Array.from({ length: turns }, (): Sent => {
    const message = Array.from({ length: turnBytes / 10 }, () => Math.floor(random() * 1e10)).join(",");
    messages.push(message);
    return [JSON.stringify({ messages, tools: ["read"] }), '{"ok":true}'];
  });
}

const sumOf = (sizes: readonly number[]) => sizes.reduce((sum, size) => sum + size, 0);

test("a session of 50 turns takes at most 0.15 of what it takes when each turn is stored whole", async () => {
  const session = growingSession(50);
  const { digest: _, ...plainCodec } = zstdCodec;
  const [log, plain] = [await openLog(), await openLog(plainCodec)];
  for (const sent of session) {
    await log.append([sent]);
    await plain.append([sent]);
  }
  const [stored, whole] = [sumOf(await log.sizes()), sumOf(await plain.sizes())];
  assert.ok(stored <= 0.15 * whole, `${stored} of ${whole} bytes`);
  await Promise.all([log.database.close(), plain.database.close()]);
});

test("a workspace never refers to what another one has stored", async () => {
  const log = await openLog();
  const [sent = ["", ""]] = growingSession(1, 40_000);
  const [id = ""] = await log.append([sent], "w");
  const [other = ""] = await log.append([sent], "w2");
  const [again = ""] = await log.append([sent], "w");
  const [first = 0, second = 0, third = 0] = await log.sizes();
  assert.ok(second > 0.95 * first, "it does not show in the size that the other workspace has the text");
  assert.ok(third < 0.1 * first);
  assert.deepEqual(await log.read(other, "w2"), sent);
  await log.database.write([{ sql: "DELETE FROM log_bodies WHERE seq = 1", args: [] }]);
  assert.deepEqual(await log.read(other, "w2"), sent);
  assert.deepEqual([await log.read(id), await log.read(again)], [null, null], "a part of a body is never shown");
  await log.database.close();
});

test("contents stay until the last batch that refers to them is past its time, and an hour at most", async () => {
  const log = await openLog();
  const [sent = ["", ""]] = growingSession(1, 40_000);
  const [first = ""] = await log.append([sent]);
  log.later(59 * minuteMs);
  const [second = ""] = await log.append([sent]);
  log.later(2 * minuteMs);
  const [third = ""] = await log.append([sent]);
  const [whole = 0, referring = 0, wholeAgain = 0] = await log.sizes();
  assert.ok(referring < 0.1 * whole);
  assert.ok(wholeAgain > 0.95 * whole, "after an hour it is stored again");
  const secondAt = log.now() - 2 * minuteMs;
  await purge(log.database, { contents: secondAt });
  assert.deepEqual(await log.read(second), sent);
  await purge(log.database, { contents: secondAt + 61 * minuteMs });
  assert.deepEqual([await log.read(first), await log.read(second)], [null, null]);
  assert.deepEqual(await log.read(third), sent);
  await purge(log.database, { contents: log.now() + 61 * minuteMs });
  assert.deepEqual(await log.sizes(), []);
  await log.database.close();
});

test("contents past their time are not shown, and those of a later batch that refers to them are", async () => {
  const log = await openLog();
  const [sent = ["", ""]] = growingSession(1, 40_000);
  const [first = ""] = await log.append([sent]);
  log.later(minuteMs);
  const [second = ""] = await log.append([sent]);
  log.hideBefore(log.now());
  assert.deepEqual([await log.read(first), await log.read(second)], [null, sent]);
  assert.deepEqual(await log.areShown(), [false, true]);
  await log.database.close();
});

test("a batch whose references are gone is stored whole, once", async () => {
  const log = await openLog();
  const [sent = ["", ""]] = growingSession(1, 40_000);
  await log.append([sent]);
  await log.database.write([{ sql: "DELETE FROM log_bodies", args: [] }]);
  const [id = ""] = await log.append([sent]);
  assert.deepEqual(await log.read(id), sent);
  assert.equal((await log.sizes()).length, 1);
  const [later = ""] = await log.append([sent]);
  assert.deepEqual(await log.read(later), sent);
  await log.database.close();
});

test("streams of short events are not searched for repeats, those that begin with their request are", async () => {
  const log = await openLog();
  const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
  const short = Array.from({ length: 200 }, (_, index) => event({ id: "chatcmpl-1", index, delta: "word" })).join("");
  const tools = drawText(createRandom(3), 12_000).replace(/["\\\n]/g, "-");
  const long = [event({ tools }), event({ tools }), event({ delta: "word" })].join("");
  const sent: Sent[] = [
    ["{}", short],
    ["{}", `: hello\n\n${short}`],
    ["{}", `event: chunk\n${short}`],
    ["{}", long],
  ];
  const ids = await log.append(sent);
  const again = await log.append(sent);
  for (const [index, id] of [...ids, ...again].entries())
    assert.deepEqual(await log.read(id), sent[index % sent.length]);
  const { rows } = await log.database.read("SELECT content FROM log_bodies ORDER BY seq");
  const stored = rows.map(({ content }) => {
    assert.ok(content instanceof ArrayBuffer);
    return zstdCodec.expand(new Uint8Array(content));
  });
  assert.equal(stored.length, 2);
  for (const text of stored) assert.equal(text.split(short).length - 1, 3);
  assert.ok(stored[1]?.startsWith('{"bases":'));
  const isIn = stored.map((text) => text.includes(tools.slice(3_000, 4_000)));
  assert.deepEqual(isIn, [true, false]);
  await log.database.close();
});

test("small bodies, and those of hosts without a digest, are stored as they were", async () => {
  const { digest: _, ...plainCodec } = zstdCodec;
  for (const codec of [zstdCodec, plainCodec]) {
    const log: Log = await openLog(codec);
    const body = codec === zstdCodec ? "y".repeat(4_000) : "y".repeat(40_000);
    await log.append([[body, ""]]);
    await log.append([[body, ""]]);
    const { rows } = await log.database.read("SELECT content FROM log_bodies");
    for (const { content } of rows) {
      assert.ok(content instanceof ArrayBuffer);
      assert.ok(codec.expand(new Uint8Array(content)).startsWith("[["));
    }
    await log.database.close();
  }
});
