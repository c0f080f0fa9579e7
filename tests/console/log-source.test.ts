// Log rows of requests that a session of the console made: they are marked, and can be left out of lists and figures.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import {
  chat,
  createTestGateway,
  helloBody,
  listLogs,
  readJson,
  type TestGateway,
  waitForLogs,
  workspaceKey,
} from "../support/gateway.ts";
import { startServer, type Upstream } from "../support/upstream.ts";
import { type SignedIn, signIn } from "./support.ts";

let gateway: TestGateway;
let upstream: Upstream;
let page: SignedIn;
/** Id of the row of a request that a program sent. */
let ofProgram = "";
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  upstream = await startServer((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end('{"object":"list","data":[]}');
  });
  page = await signIn(gateway, workspaceKey);
  const response = await chat(gateway, helloBody, { "x-gateway-trace-id": "program" });
  await response.text();
  ofProgram = (await waitForLogs(gateway, "trace_id=program"))[0]?.id ?? "";
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const echo = { "x-gateway-provider": "echo" };
const provider = { name: "mine", slug: "mine", ai_provider_id: "openai", key: "sk-test-0123456789abcdef" };
const sourceOf = async (trace: string) => {
  const rows = await waitForLogs(gateway, `trace_id=${trace}`);
  return rows.map((row) => Reflect.get(row, "source"));
};

interface Case {
  readonly route: () => string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

/** What pages of the console send that leaves a row. */
const calls: Readonly<Record<string, Case>> = {
  playground: { route: () => "POST /v1/chat/completions", headers: echo, body: helloBody },
  stream: { route: () => "POST /v1/chat/completions", headers: echo, body: { ...helloBody, stream: true } },
  models: { route: () => "GET /v1/models" },
  files: { route: () => "GET /v1/files" },
  replay: { route: () => `POST /v1/logs/${ofProgram}/replay`, body: {} },
  credential: { route: () => "POST /v1/providers/mine/test" },
};

for (const [name, { route, headers, body }] of Object.entries(calls)) {
  test(`a row of the console is marked: ${name}`, async () => {
    if (name === "credential") {
      const settings = { configurations: { custom_host: `${upstream.url}/v1` }, default_provider_slug: "mine" };
      await done(call(gateway, "POST /integrations", { key: workspaceKey, body: { ...provider, ...settings } }));
    }
    const init = { headers: { "x-gateway-trace-id": name, ...headers }, ...(body && { body }) };
    const response = await page.call(route(), init);
    assert.ok(response.status < 300, `${response.status}: ${await response.clone().text()}`);
    await response.text();
    assert.deepEqual(await sourceOf(name), ["console"]);
  });
}

test("a row of a program has no source, also where the same key signed in", async () => {
  assert.deepEqual(await sourceOf("program"), [undefined]);
});

test("lists, figures, groups and exports leave rows of the console out where they are asked to", async () => {
  const all = (await listLogs(gateway, "limit=100")).data;
  const [own, programs] = [/^(?!program$)/, /^program$/].map((name) => all.filter((row) => name.test(row.trace_id)));
  assert.ok(own && programs && own.length >= 6 && programs.length === 1);
  const ids = async (source: string) =>
    (await listLogs(gateway, `limit=100&source=${source}`)).data.map(({ id }) => id);
  assert.deepEqual(
    await ids("console"),
    own.map(({ id }) => id),
  );
  assert.deepEqual(await ids("gateway"), [ofProgram]);
  assert.equal((await ids("gateway,console")).length, all.length);
  const period = "time_of_generation_min=2001-01-01T00:00:00Z&time_of_generation_max=2099-01-01T00:00:00Z";
  const figures = async (path: string, source: string) =>
    done(call<Record<string, unknown>>(gateway, `GET /analytics/${path}?${period}${source}`, { key: workspaceKey }));
  const requestsOf = async (source: string) =>
    Reflect.get(Object((await figures("summary/requests", source)).summary), "requests");
  assert.equal(await requestsOf(""), all.length);
  assert.equal(await requestsOf("&source=gateway"), 1);
  assert.equal(await requestsOf("&source=console"), own.length);
  const { data } = await figures("groups/model", "&source=gateway");
  assert.deepEqual(
    (data as { requests: number }[]).map(({ requests }) => requests),
    [1],
  );
  const filters = { source: ["gateway"] };
  const body = { filters, requested_data: ["id"] };
  const { total } = await done(call<{ total: number }>(gateway, "POST /logs/exports", { key: workspaceKey, body }));
  assert.equal(total, 1);
});

test("a single row shows the console as its source among its metrics", async () => {
  const [row] = await waitForLogs(gateway, "trace_id=playground");
  const response = await page.call(`GET /v1/logs/${row?.id}`);
  const shown = await readJson<{ source?: string; metrics: { source: string } }>(response);
  assert.deepEqual([shown.source, shown.metrics.source], ["console", "console"]);
});
