import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { adminEndpoints } from "../../src/admin/endpoints.ts";
import type { Endpoint } from "../../src/endpoint.ts";
import { inferenceEndpoints, passthroughEndpoints } from "../../src/inference/routes/endpoints.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";

const rows: readonly Endpoint[] = [...inferenceEndpoints, ...adminEndpoints, ...passthroughEndpoints];

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway();
});
after(() => gateway.close());

/** A path that matches an endpoint. */
const fitting = (path: string): string => path.replace(/\/(@?):\w+\+?/g, "/$1x-1").replace("*", "evaluations");

/** The shape of an error body. All shapes but SCIM's have the common fields. */
function formOf(body: Record<string, unknown>): string {
  const { schemas, success, type, error } = body;
  if (Array.isArray(schemas)) return "scim";
  if (success === false) return "admin";
  if (type === "error") return "messages";
  const { code } = error as { code: unknown }; // every other shape has an error object
  return typeof code === "number" ? "gemini" : "common";
}

async function ask(method: string, path: string, headers: Record<string, string> = {}) {
  const response = await gateway.fetch(path, { method, headers });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

/** The shape in which an endpoint's clients read errors. */
function wantedForm({ kind, path }: Endpoint): string {
  if (kind === "admin" || kind === "scim") return kind;
  if (path.startsWith("/v1beta/") || /\/:model\+:\w+$/.test(path)) return "gemini";
  if (/^\/v1\/messages(?:\/|$)/.test(path)) return "messages";
  const isAdmin = path.endsWith("/invites/:inviteId/accept") || /^\/v1\/(?:feedback|logs\/exports)(?:\/|$)/.test(path);
  return isAdmin ? "admin" : "common";
}

test("every endpoint responds to a request without a key in its error shape", async () => {
  const forms = new Set<string>();
  for (const row of rows) {
    assert.equal(row.errorForm ?? "common", wantedForm(row), `${row.method} ${row.path}`);
    if (row.access === "public") continue;
    const { status, body } = await ask(row.method, fitting(row.path));
    assert.deepEqual([status, formOf(body)], [401, wantedForm(row)], `${row.method} ${row.path}`);
    forms.add(formOf(body));
  }
  assert.deepEqual([...forms].sort(), ["admin", "common", "gemini", "messages", "scim"]);
});

for (const [method, path, status, form] of [
  ["GET", "/v1beta/other", 404, "gemini"],
  ["PUT", "/v1beta/models/m:generateContent", 405, "gemini"],
  ["GET", "/v1/messages/batches", 401, "messages"],
  ["PATCH", "/v1/messages", 405, "messages"],
  ["GET", "/scim/v2/Other", 404, "scim"],
  ["GET", "/v1/scim/v2/Other", 404, "scim"],
  ["DELETE", "/scim/v2/Users", 405, "scim"],
  ["GET", "/v1/scim/other", 404, "common"],
  ["GET", "/v1/configs/a/b/c", 404, "common"],
  ["PATCH", "/v1/configs", 405, "common"],
  ["GET", "/v1/evaluations", 401, "common"],
  ["GET", "/v1/messages-of-others", 401, "common"],
  ["GET", "/other", 404, "common"],
] as const) {
  test(`${method} ${path}, which no endpoint serves, gets a ${form} error`, async () => {
    const { status: answered, body } = await ask(method, path);
    assert.deepEqual([answered, formOf(body)], [status, form]);
  });
}

/** Endpoints whose callers send a gateway key. */
const keyed = rows.filter(({ access }) => access !== "public" && access !== "scim");

test("a key in the query is refused on the endpoints of the Gemini API and on no other", async () => {
  for (const row of keyed) {
    const { body } = await ask(row.method, `${fitting(row.path)}?key=${workspaceKey}`);
    const wanted = wantedForm(row) === "gemini" ? "key" : null;
    assert.equal(body.error.param, wanted, `${row.method} ${row.path}`);
  }
});

test("a key among the subprotocols of a handshake opens the realtime endpoint and no other", async () => {
  const headers = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-protocol": `realtime, openai-insecure-api-key.${workspaceKey}`,
  };
  const opened: string[] = [];
  for (const row of keyed) {
    const { status } = await ask(row.method, fitting(row.path), headers);
    if (status !== 401) opened.push(row.path);
  }
  assert.deepEqual(opened, ["/v1/realtime"]);
});
