import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openDatabase } from "../../src/db/client.ts";
import { isDatabaseAway } from "../../src/lib/database-away.ts";
import type { RedactionSettings } from "../../src/logs/redact.ts";
import { createLogThread } from "../../src/serve/log-thread.ts";
import { eventually } from "../support/eventually.ts";
import { logRecord } from "../support/log-record.ts";
import { startServer } from "../support/upstream.ts";

/** What a server of libSQL answers to one statement without rows. */
const execute = { type: "execute", result: { cols: [], rows: [], affected_row_count: 0, last_insert_rowid: null } };
const results = [execute, { type: "close" }].map((response) => ({ type: "ok", response }));
const answer = JSON.stringify({ baton: null, base_url: null, results });

/** Writes that reached the server, how many of them wait for an answer, and most at a time. */
const seen = { writes: [] as string[], open: 0, most: 0 };
let answersWrites = true;

const server = await startServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  const [write] = /DELETE FROM \w+|log_batches/.exec(body) ?? [];
  if (write !== undefined) {
    seen.writes.push(write);
    seen.most = Math.max(seen.most, ++seen.open);
    response.on("close", () => seen.open--);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  if (write !== undefined && !answersWrites) return;
  // that no row is stored does not matter here
  if (write === "log_batches") response.statusCode = 400;
  response.setHeader("content-type", "application/json");
  response.end(answer);
});
const database = await openDatabase({ url: server.url, writeWithinMs: 1_500 });
after(async () => {
  await database.close();
  await server.close();
});

test("a server gets one write at a time, in the order in which they come", async () => {
  const names = Array.from({ length: 20 }, (_, index) => `DELETE FROM t${index}`);
  await Promise.all(names.map((name) => database.write([name])));
  assert.deepEqual([seen.writes, seen.most], [names, 1]);
});

test("a write that a server does not answer is ended in time, with those that wait for it, and none of them is sent later", async () => {
  answersWrites = false;
  seen.writes = [];
  const failed = await Promise.allSettled(["a", "b", "c"].map((name) => database.write([`DELETE FROM ${name}`])));
  for (const one of failed) assert.ok(one.status === "rejected" && isDatabaseAway(one.reason));
  await eventually("the end of the connection", async () => seen.open === 0);
  answersWrites = true;
  await database.write(["DELETE FROM d"]);
  assert.deepEqual(seen.writes, ["DELETE FROM a", "DELETE FROM d"]);
});

const redaction: RedactionSettings = {
  key: new Uint8Array(32),
  keyPrefix: "gk",
  sensitiveNames: [],
  secretMembers: [],
  aliasPrefixes: [],
};

test("the thread for log rows gives a server one write at a time", async () => {
  Object.assign(seen, { writes: [], most: 0 });
  const log = createLogThread({ url: server.url }, redaction, { metrics: null, otlp: null });
  await Promise.allSettled(Array.from({ length: 8 }, (_, index) => log.append([logRecord(`row-${index}`)])));
  await log.close();
  assert.deepEqual([seen.writes, seen.most], [Array.from({ length: 8 }, () => "log_batches"), 1]);
});
