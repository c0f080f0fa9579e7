import assert from "node:assert/strict";
import { test } from "node:test";
import { openDatabase } from "../../src/db/client.ts";
import { adviseServer } from "../../src/db/server-checkpoints.ts";
import { startServer } from "../support/upstream.ts";

/** What a server of libSQL answers that copies its write-ahead log after a commit with so many pages. */
function answerOf(pages: number): string {
  const cols = [{ name: "wal_autocheckpoint", decltype: null }];
  const rows = [[{ type: "integer", value: String(pages) }]];
  const execute = { type: "execute", result: { cols, rows, affected_row_count: 0, last_insert_rowid: null } };
  const results = [execute, { type: "close" }].map((response) => ({ type: "ok", response }));
  return JSON.stringify({ baton: null, base_url: null, results });
}

for (const [what, status, body, advice] of [
  ["copies its log after commits", 200, answerOf(1_000), /SQLD_CHECKPOINT_INTERVAL_S=10/],
  ["copies its log by an interval", 200, answerOf(0), undefined],
  ["refuses the question", 400, "no", undefined],
] as const) {
  test(`an operator is advised about a server that may stop writing: it ${what}`, async () => {
    const server = await startServer((request, response) => {
      request.resume();
      response.writeHead(status, { "content-type": status === 200 ? "application/json" : "text/plain" }).end(body);
    });
    const database = await openDatabase({ url: server.url });
    const found = await adviseServer(database);
    if (advice) assert.match(found ?? "", advice);
    else assert.equal(found, undefined);
    await database.close();
    await server.close();
  });
}
