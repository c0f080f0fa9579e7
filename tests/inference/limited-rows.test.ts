import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { adminEndpoints } from "../../src/admin/endpoints.ts";
import { scimEndpoints } from "../../src/admin/scim/endpoints.ts";
import type { Database } from "../../src/db/client.ts";
import type { Endpoint } from "../../src/endpoint.ts";
import { inferenceEndpoints, passthroughEndpoints } from "../../src/inference/routes/endpoints.ts";
import type { Transport } from "../../src/lib/outbound.ts";
import { call, done } from "../support/control.ts";
import { createPrompt, nameOf, ownRows, pathOf, providerRows, toRequest } from "../support/endpoint-requests.ts";
import {
  createTestGateway,
  type HeaderChanges,
  readJson,
  requestHeaders,
  type TestGateway,
  workspaceKey,
} from "../support/gateway.ts";
import { handshakeHeaders } from "../support/websocket-upstream.ts";

/** A failed call is a request too. */
const unavailable = (_url: string) => new Response("nobody is here", { status: 503 });
let respond = unavailable;
/** Addresses that were called. */
const sent: string[] = [];
const transport: Transport = {
  async send(url) {
    sent.push(url);
    return respond(url);
  },
  openSocket(url) {
    sent.push(url);
    throw new TypeError("nobody is here");
  },
};

let gateway: TestGateway;
let database: Database;
let promptSlug = "";
before(async () => {
  gateway = await createTestGateway({ transport, inFile: true });
  database = await gateway.openFile();
  promptSlug = await createPrompt(gateway);
});
after(() => gateway.close());

/** Runs work while a policy holds for every request of the workspace. */
async function withPolicy<Result>(
  kind: "rate" | "usage",
  most: number,
  work: (id: string) => Promise<Result>,
  conditions: object[] = [{ key: "workspace_id", value: "*" }],
) {
  const limit = kind === "rate" ? { unit: "rpd", value: most } : { credit_limit: most };
  const body = {
    workspace_id: "default",
    conditions,
    group_by: [{ key: "workspace_id" }],
    type: "requests",
    ...limit,
  };
  const { id } = await done(call<{ id: string }>(gateway, `POST /policies/${kind}-limits`, { body }));
  try {
    return await work(id);
  } finally {
    await done(call(gateway, `DELETE /policies/${kind}-limits/${id}`));
  }
}

/** What a policy has counted, once the rows of all requests are stored. */
async function readCounter(id: string): Promise<number> {
  const read = async (sql: string, ...args: string[]) => Number((await database.read({ sql, args })).rows[0]?.found);
  const isStored = async () =>
    (await read("SELECT count(*) AS found FROM log_batches WHERE instr(details, ?) > 0", marker)) > 0;
  const marker = `marker-${crypto.randomUUID()}`;
  // rows are stored in order
  await gateway.fetch("/v1/prompts/none/render", {
    method: "POST",
    headers: requestHeaders({ "x-gateway-trace-id": marker }),
    body: '{"variables":{}}',
  });
  while (!(await isStored())) await new Promise((resolve) => setTimeout(resolve, 5));
  return read("SELECT coalesce(sum(used), 0) AS found FROM limit_counters WHERE limit_id LIKE ?", `${id}:%`);
}

/** Calls an endpoint; returns the response, and how often a provider was called. */
async function ask(row: Endpoint, path = pathOf(row, promptSlug), changes: HeaderChanges = {}) {
  sent.length = 0;
  const response =
    row.path === "/v1/realtime" ? await askSession() : await gateway.fetch(path, toRequest(row, changes));
  const body = await readJson<Record<string, unknown>>(response.clone() as Response).catch(() => ({}));
  await response.text();
  return { status: response.status, body, headers: response.headers, calls: sent.length };
}

/** Requests a session, which the test does not accept. */
function askSession(): Promise<Response> {
  const headers = {
    ...handshakeHeaders,
    "x-gateway-api-key": workspaceKey,
    "x-gateway-provider": "openai",
    authorization: "Bearer provider-key",
  };
  const upgrade = (): Response => {
    throw new Error("the test takes no session");
  };
  return gateway.fetch("/v1/realtime?model=m", { headers }, { upgrade });
}

/** Code of an error in the shape of its route. */
function codeOf({ errorForm = "common" }: Endpoint, body: Record<string, unknown>): unknown {
  const error = body.error as Record<string, unknown>; // every shape has an error object
  if (errorForm === "gemini") {
    // clients of the Gemini API find the status in the error alone
    assert.equal(body.status, undefined);
    assert.deepEqual([typeof error.code, typeof error.status], ["number", "string"]);
    const [info] = error.details as { reason: string }[]; // the shape of the Gemini API
    return info?.reason.toLowerCase();
  }
  assert.equal(body.status, "failure");
  assert.equal(body.type, errorForm === "messages" ? "error" : undefined);
  return error.code;
}

/** Routes that read files, batches, jobs or stored responses: used-up budgets do not refuse them. */
const reads = new Set(
  ["files", "files/:id", "files/:id/content", "batches", "batches/:id", "batches/:id/output", "fine_tuning/jobs"]
    .concat(["fine_tuning/jobs/:id", "fine_tuning/jobs/:id/events", "fine_tuning/jobs/:id/checkpoints"])
    .concat(["responses/:id", "responses/:id/input_items"])
    .map((path) => `GET /v1/${path}`),
);

/** Every way to a provider: each endpoint, and the paths that are forwarded. */
const ways = [
  ...providerRows
    .filter((row) => !ownRows.has(nameOf(row)))
    .map((row) => ({ name: nameOf(row), row, path: undefined })),
  ...passthroughEndpoints.flatMap((row) =>
    ["/v1/proxy/v1/chat/completions", "/v1/messages/batches", "/v1/v1beta/corpora"].map((path) => ({
      name: `${row.method} ${path}`,
      row: path.startsWith("/v1/messages") ? ({ ...row, errorForm: "messages" } as const) : row,
      path,
    })),
  ),
];

for (const { name, row, path } of ways) {
  test(`${name} meets limits before its provider is called, and counts once`, async () => {
    await withPolicy("rate", 0, async () => {
      const { status, body, headers, calls } = await ask(row, path);
      assert.deepEqual([status, calls], [429, 0], JSON.stringify(body));
      assert.equal(codeOf(row, body), "rate_limits_policy_exhaust_error");
      assert.ok(Number(headers.get("retry-after")) > 0);
    });
    await withPolicy("usage", 0, async () => {
      const { status, body, calls } = await ask(row, path);
      if (reads.has(name)) return assert.deepEqual([status >= 500, calls], [true, 1], JSON.stringify(body));
      assert.deepEqual([status, calls], [412, 0], JSON.stringify(body));
      assert.equal(codeOf(row, body), "usage_limits_policy_exhaust_error");
    });
    for (const kind of ["rate", "usage"] as const) {
      await withPolicy(kind, 1_000, async (id) => {
        const { status, body, calls } = await ask(row, path);
        assert.ok(calls > 0, `${status} ${JSON.stringify(body)}`);
        assert.equal(await readCounter(id), kind === "usage" && reads.has(name) ? 0 : 1, kind);
      });
    }
  });
}

test("every route that only reads exists", () => {
  const names = new Set(providerRows.map(nameOf));
  assert.deepEqual(
    [...reads].filter((name) => !names.has(name)),
    [],
  );
});

test("every other endpoint calls no provider and counts nowhere", async () => {
  const known = new Set(providerRows.filter((row) => !ownRows.has(nameOf(row))));
  const others = [...inferenceEndpoints, ...adminEndpoints, ...scimEndpoints].filter((row) => !known.has(row));
  assert.ok(others.length > 100);
  await withPolicy("rate", 1_000, async (id) => {
    for (const row of others) {
      // its response does not end
      if (row.path === "/v1/logs/tail") continue;
      // the policy of this test stays
      if (row.path.startsWith("/v1/policies") && row.method !== "GET") continue;
      assert.equal((await ask(row)).calls, 0, nameOf(row));
    }
    assert.equal(await readCounter(id), 0);
  });
});

/** Headers of a request to Bedrock, whose files lie in S3. */
const bedrock: HeaderChanges = {
  "x-gateway-provider": "bedrock",
  "x-gateway-aws-region": "eu-west-1",
  "x-gateway-aws-s3-bucket": "bucket",
  "x-gateway-aws-access-key-id": "AKIDEXAMPLE",
  "x-gateway-aws-secret-access-key": "secret",
  authorization: null,
};
const job = {
  jobArn: "arn:aws:bedrock:eu-west-1:123456789012:model-invocation-job/abc",
  modelId: "m",
  status: "Completed",
  submitTime: "2026-01-01T00:00:00Z",
  inputDataConfig: { s3InputDataConfig: { s3Uri: "s3://bucket/in.jsonl" } },
  outputDataConfig: { s3OutputDataConfig: { s3Uri: "s3://bucket/out/" } },
};

for (const [provider, changes, first] of [
  ["openai", {}, { id: "batch-1", status: "completed", output_file_id: "file-1" }],
  ["bedrock", bedrock, job],
] as const) {
  test(`the output of a batch at ${provider}, which takes two calls, counts once`, async () => {
    const row = providerRows.find(({ path }) => path === "/v1/batches/:id/output") ?? assert.fail();
    respond = (url) =>
      /s3\.|\/content$/.test(url) ? new Response('{"recordId":"a","modelOutput":{}}') : Response.json(first);
    try {
      await withPolicy("rate", 1_000, async (id) => {
        const { status, calls } = await ask(row, undefined, changes);
        assert.deepEqual([status, calls], [200, 2]);
        assert.equal(await readCounter(id), 1);
      });
    } finally {
      respond = unavailable;
    }
  });
}

test("a condition on the provider holds where its files lie at another service", async () => {
  const row = providerRows.find(({ path }) => path === "/v1/files/:id/content") ?? assert.fail();
  const path = `/v1/files/${encodeURIComponent("s3://bucket/file.jsonl")}/content`;
  await withPolicy(
    "rate",
    0,
    async () => {
      assert.equal((await ask(row, path, bedrock)).status, 429);
      assert.equal((await ask(row)).calls, 1);
    },
    [{ key: "provider", value: "bedrock" }],
  );
});
