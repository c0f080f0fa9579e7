import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { adminEndpoints } from "../../src/admin/endpoints.ts";
import { call } from "../support/control.ts";
import { adminKey, createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { sample } from "../support/sample.ts";

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway();
});
after(() => gateway.close());

interface Refusal {
  error?: { param: string | null };
}

const lists = adminEndpoints.filter(
  ({ method, path, access }) =>
    // its answer does not end: tests/admin/log-tail.test.ts
    path !== "/v1/logs/tail" && method === "GET" && access !== "public" && access !== "scim",
);

const filtered = sample(
  lists.filter((row) => row.query),
  3,
);

for (const { path, query = [] } of filtered) {
  test(`GET ${path} refuses a filter it does not know, and no filter it documents`, async () => {
    const asked = path.slice(3).replace(/:\w+/g, () => crypto.randomUUID());
    const refusals = async (name: string) => {
      const answers = [adminKey, workspaceKey].map((key) => call<Refusal>(gateway, `GET ${asked}?${name}=1`, { key }));
      return (await Promise.all(answers)).map(({ status, body }) => ({ status, param: body.error?.param ?? null }));
    };
    const unknown = await refusals("misspelt_filter");
    assert.ok(
      unknown.some(({ status, param }) => status === 400 && param === "misspelt_filter"),
      JSON.stringify(unknown),
    );
    for (const { name } of query) {
      for (const { status } of await refusals(name)) assert.ok(status < 500);
      const messages = await Promise.all(
        [adminKey, workspaceKey].map((key) => call<{ message?: string }>(gateway, `GET ${asked}?${name}=1`, { key })),
      );
      for (const { body } of messages) assert.doesNotMatch(body.message ?? "", /is not known here/);
    }
  });
}

for (const { path, query = [] } of filtered) {
  test(`GET ${path} refuses a filter as a list, and one that is given twice, where it reads one value`, async () => {
    const asked = path.slice(3).replace(/:\w+/g, () => crypto.randomUUID());
    const refusals = async (text: string) => {
      const answers = [adminKey, workspaceKey].map((key) => call<Refusal>(gateway, `GET ${asked}?${text}`, { key }));
      return (await Promise.all(answers)).map(({ status, body }) => `${status} ${body.error?.param}`);
    };
    for (const { name, isList = false } of query) {
      const listed = await refusals(`${name}[]=1`);
      assert.equal(listed.includes(`400 ${name}[]`), !isList, name);
      const twice = await refusals(`${name}=1&${name}=1`);
      assert.ok(isList || twice.includes(`400 ${name}`), `${name}: ${twice}`);
    }
  });
}

test("GET /logs reads its filters in either spelling", async () => {
  const headers = { "x-gateway-trace-id": "spelt", "x-gateway-provider": "echo" };
  const body = { model: "echo-1", messages: [{ role: "user", content: "Hello" }] };
  await call(gateway, "POST /chat/completions", { key: workspaceKey, body, headers });
  const list = async (query: string) => {
    const { status, body: page } = await call<{ data?: object[] }>(gateway, `GET /logs?${query}`, {
      key: workspaceKey,
    });
    return `${status} ${page.data?.length}`;
  };
  for (let waited = 0; (await list("trace_id=spelt")) !== "200 1" && waited < 5_000; waited += 20) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.deepEqual(await Promise.all(["traceId=spelt", "traceId=other", "apiKeyId=none"].map(list)), [
    "200 1",
    "200 0",
    "200 0",
  ]);
  for (const query of ["model[]=none", "traceId=spelt&trace_id=other", "status=200&status=500"]) {
    assert.match(await list(query), /^400 /, query);
  }
});
