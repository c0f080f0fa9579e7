import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { adminEndpoints } from "../../src/admin/endpoints.ts";
import { inferenceEndpoints } from "../../src/inference/routes/endpoints.ts";
import { matchPath } from "../../src/lib/route-path.ts";
import { createTestGateway, requestHeaders, type TestGateway } from "../support/gateway.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway({ transport: wire.transport });
});
after(() => gateway.close());

/** Requests a path as written; returns whether a provider was called. */
async function ask(method: string, path: string, provider = "openai") {
  wire.url = "";
  const headers = requestHeaders({ "x-gateway-provider": provider, authorization: "Bearer provider-key" });
  const body = method === "POST" || method === "PUT" ? { body: '{"model":"m"}' } : {};
  const response = await gateway.fetch(path, { method, headers, ...body });
  const text = await response.text();
  return { status: response.status, text, url: wire.url };
}

/** Other spellings of a path below `/v1`. */
const spellings: Readonly<Record<string, (path: string) => string>> = {
  "with a version twice": (path) => `/v1/v1${path}`,
  "with another version": (path) => `/v1/v2${path}`,
  "with an empty segment": (path) => `/v1/${path}`,
  "in capitals": (path) => `/v1${path.toUpperCase()}`,
  "with an encoded letter": (path) => `/v1/%${path.charCodeAt(1).toString(16)}${path.slice(2)}`,
  "with a letter encoded twice": (path) => `/v1/%25${path.charCodeAt(1).toString(16)}${path.slice(2)}`,
  "with an encoded slash": (path) => `/v1/v1%2F${path.slice(1)}`,
  "with a blank": (path) => `/v1${path}%20`,
  "with a parameter of the segment": (path) => `/v1${path};a=1`,
  "with an encoded query": (path) => `/v1${path}%3Fa=1`,
  "with an encoded fragment": (path) => `/v1${path}%23a`,
  "in wide letters": (path) => `/v1/${String.fromCharCode(path.charCodeAt(1) + 0xfee0)}${path.slice(2)}`,
  "below a host": (path) => `/v1/https://res.openai.azure.com/openai/v1${path}`,
  "below a name of vendors": (path) => `/v1/openai/v1${path}`,
  "below a deployment": (path) => `/v1/openai/deployments/d${path}`,
};

const rows = inferenceEndpoints.filter((row) => "operation" in row && row.operation !== undefined);

for (const [what, spell] of Object.entries(spellings)) {
  test(`no native route is forwarded uninspected when it is written ${what}`, async () => {
    for (const { method, path } of rows) {
      const below = path.replace(/^\/v1(?=\/)/, "").replace(/\/(@?):(\w+)\+?/g, "/$1m-1");
      const { status, text, url } = await ask(method, spell(below));
      const asked = spell(below);
      // some are other routes then, such as `/threads/runs%20` that of a thread
      const isKnown = rows.some((row) => row.method === method && matchPath(row.path, asked.replace(/\?.*/, "")));
      if (!isKnown) assert.equal(url, "", `${method} ${asked} ${status} ${text}`);
    }
  });
}

test("a refusal names the route, and how to forward a path", async () => {
  const { status, text } = await ask("POST", "/v1/v1/chat/completions");
  assert.equal(status, 400);
  assert.match(text, /POST \/v1\/chat\/completions/);
  assert.match(text, /\/v1\/proxy\//);
});

test("other paths are forwarded, and /v1/proxy forwards every path of the provider", async () => {
  for (const [path, url] of [
    ["/v1/evals/e-1/runs", "https://api.openai.com/v1/evals/e-1/runs"],
    ["/v1/v1/evals", "https://api.openai.com/v1/evals"],
    ["/v1/containers/c/files", "https://api.openai.com/v1/containers/c/files"],
    ["/v1/proxy/v1/chat/completions", "https://api.openai.com/v1/chat/completions"],
    ["/v1/proxy/chat/completions", "https://api.openai.com/v1/chat/completions"],
    ["/v1/proxy/files", "https://api.openai.com/v1/files"],
  ] as const) {
    const { status, url: called, text } = await ask("POST", path);
    assert.deepEqual([path, status, called], [path, 200, url], text);
  }
});

/** First segments below `/v1` of rows that never ask a provider, and of the rows to come. */
const ownNames = [...inferenceEndpoints, ...adminEndpoints]
  .filter((row) => !("operation" in row) || row.operation === undefined)
  .filter(({ path }) => path.startsWith("/v1/"))
  .map(({ path }) => path.split("/")[2] ?? "");
const plannedNames = ["cache", "mcp-integrations", "mcp-servers", "otel", "policies"];

for (const name of new Set([...ownNames, ...plannedNames])) {
  test(`/v1/${name} never goes to a provider, and /v1/proxy/${name} does`, async () => {
    const spelt = `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`;
    for (const path of [`/v1/${name}/a/b/c/d/e/f`, `/v1/${name.toUpperCase()}/x`, `/v1/${spelt}/x`, `/v1//${name}/x`]) {
      for (const method of ["GET", "POST", "DELETE"]) {
        const { status, url } = await ask(method, path);
        assert.deepEqual([url, status >= 400], ["", true], `${method} ${path} ${status}`);
      }
    }
    const misspelt = await ask("GET", `/v1/${name}/misspelt/b/c/d/e/f`);
    assert.deepEqual([misspelt.status, misspelt.url], [404, ""], misspelt.text);
    const { status, url } = await ask("GET", `/v1/proxy/${name}/x`);
    assert.deepEqual([status, url], [200, `https://api.openai.com/v1/${name}/x`]);
  });
}

test("names below /v1/logs that are not ids are not found", async () => {
  for (const path of ["/v1/logs/%74ail", "/v1/logs/EXPORTS"]) {
    const { status, text } = await ask("GET", path);
    assert.equal(status, 404, `${path} ${text}`);
    assert.match(text, /nothing at this path/);
  }
});

test("dot segments after an encoded slash are refused on every path", async () => {
  for (const path of [
    "/v1/x/..%2fmodels%2flarge",
    "/v1/proxy/a%2F..%2fb",
    "/v1/a/%2e%2e%2fb",
    "/v1/models/a%2f..%2Fb",
    "/v1/a/..;/b",
  ]) {
    const { status, url } = await ask("GET", path);
    assert.deepEqual([status, url], [400, ""], path);
  }
});

test("a path of Azure is its operation, with the deployment as model", async () => {
  const send = async (path: string, body: object, provider = "openai") => {
    wire.url = "";
    const headers = requestHeaders({ "x-gateway-provider": provider, authorization: "Bearer provider-key" });
    const response = await gateway.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    return { status: response.status, text: await response.text(), url: wire.url, sent: String(wire.init?.body) };
  };
  wire.answer = () => new Response("nobody is here", { status: 503 });
  const messages = [{ role: "user", content: "Hello" }];
  for (const [operation, body] of [
    ["chat/completions", { messages }],
    ["chat/completions", { model: "other", messages }],
    ["completions", { prompt: "a" }],
    ["embeddings", { input: "a" }],
    ["images/generations", { prompt: "a" }],
    ["audio/speech", { input: "a", voice: "v" }],
  ] as const) {
    const { url, sent, text } = await send(`/v1/openai/deployments/dep-1/${operation}?api-version=2024-10-21`, body);
    assert.equal(url, `https://api.openai.com/v1/${operation}`, text);
    assert.equal(JSON.parse(sent).model, "dep-1");
  }
  const spelt = await send("/v1/openai/deployments/dep-1/Chat/completions", { messages });
  assert.deepEqual([spelt.status, spelt.url], [400, ""]);
  const list = await send("/v1/openai/deployments/dep-1/chat/completions", []);
  assert.deepEqual([list.status, list.url], [400, ""]);
});
