import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidRequestError, NotFoundError } from "../../src/errors.ts";
import { readReaderReply, toReaderReply } from "../../src/serve/log-reader-messages.ts";
import { createLogReaderThread } from "../../src/serve/log-reader-thread.ts";
import { createTemporaryFolder, createTestGateway, workspaceKey } from "../support/gateway.ts";

const rows = {
  scope: { organisationId: "organisation", workspaceId: null },
  lower: "",
  upper: "~",
  conditions: [{ field: "model", oneOf: new Set(["m"]) }],
  terms: { traces: new Set(["trace"]) },
} as const;

test("what a reader refuses is refused with the same error on the other thread", async () => {
  const refusal = new InvalidRequestError("Too many", { code: "AB01", param: "from" });
  const reply = structuredClone(await toReaderReply(Promise.reject(refusal)));
  assert.throws(() => readReaderReply(reply), {
    name: "InvalidRequestError",
    status: 400,
    code: "AB01",
    param: "from",
  });
  assert.equal(readReaderReply(structuredClone(await toReaderReply(Promise.resolve("text")))), "text");
  await assert.rejects(toReaderReply(Promise.reject(new NotFoundError("Gone"))), { name: "NotFoundError" });
});

test("a list on a thread has a row as soon as it is stored, and a thread that ends is followed by another", async () => {
  const reader: ReturnType<typeof createLogReaderThread>[] = [];
  const gateway = await createTestGateway({
    inFile: true,
    createLogReader: (location, contents) => {
      reader.push(createLogReaderThread(location, contents));
      return reader[0] as ReturnType<typeof createLogReaderThread>; // added in the line before
    },
  });
  const list = async () => {
    const response = await gateway.fetch("/v1/logs", { headers: { "x-gateway-api-key": workspaceKey } });
    assert.equal(response.status, 200);
    return (await response.json()).data.length;
  };
  const send = () =>
    gateway.fetch("/v1/chat/completions", {
      method: "POST",
      headers: { "x-gateway-api-key": workspaceKey, "x-gateway-provider": "echo", "content-type": "application/json" },
      body: JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hello" }] }),
    });
  const waitFor = async (wanted: number) => {
    const deadline = performance.now() + 10_000;
    while ((await list()) !== wanted) assert.ok(performance.now() < deadline, `there are not ${wanted} rows`);
  };
  try {
    await waitFor(0);
    await send();
    await waitFor(1);
    await reader[0]?.close();
    await send();
    await waitFor(2);
  } finally {
    await gateway.close();
  }
});

const redaction = { key: new Uint8Array(32), keyPrefix: "gk", sensitiveNames: [], aliasPrefixes: [] };
const contents = { redaction, days: 30 };

test("questions fail while the thread cannot read, and the gateway closes", async () => {
  const folder = createTemporaryFolder();
  const reader = createLogReaderThread({ url: `file:${folder.path}/empty.db` }, contents);
  try {
    await assert.rejects(reader.count(rows), /no such table/);
    await assert.rejects(reader.find({ ...rows, limit: 1 }), /no such table/);
  } finally {
    await reader.close();
    folder.remove();
  }
});
