// What a form finds wrong before it is sent, by the schema of its row, and what the gateway says of the same body.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { complaintsOf, isRequired } from "../../console/src/resources/check-body.ts";
import { call } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";

interface Operation {
  readonly requestBody?: { readonly content?: { readonly "application/json"?: { readonly schema?: object } } };
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: object };
}

let one: TestGateway;
let document: Document;
before(async () => {
  one = await createTestGateway();
  const response = await one.gateway.fetch(new Request("http://gateway.test/openapi.json"));
  // references lead into the schema itself, as the build of the console makes it
  document = JSON.parse((await response.text()).replaceAll("#/components/schemas/", "#/$defs/"));
});
after(() => one?.close());

/** The schema of the body of a row. */
function schemaOf(row: string): Readonly<Record<string, unknown>> {
  const [method = "", path = ""] = row.split(" ");
  const schema = document.paths[path]?.[method.toLowerCase()]?.requestBody?.content?.["application/json"]?.schema;
  assert.ok(schema !== undefined, row);
  return { ...schema, $defs: document.components.schemas };
}

const rate = { conditions: [{ key: "model", value: "gpt-*" }], group_by: [{ key: "api_key" }], type: "requests" };
const vault = { name: "One", secret_path: "a/b", manager_type: "hashicorp_vault" };

const rows: readonly (readonly [row: string, body: object, path: string | undefined])[] = [
  ["POST /v1/policies/rate-limits", { ...rate, unit: "rpm", value: 5 }, undefined],
  ["POST /v1/policies/rate-limits", { ...rate, unit: "rpm" }, "value"],
  ["POST /v1/policies/rate-limits", { ...rate, unit: "rpm", value: -5 }, "value"],
  ["POST /v1/policies/rate-limits", { ...rate, unit: "rpy", value: 5 }, "unit"],
  ["POST /v1/policies/rate-limits", { ...rate, unit: "rpm", value: "5" }, "value"],
  ["POST /v1/policies/rate-limits", { ...rate, unit: "rpm", value: 5, conditions: [] }, "conditions"],
  [
    "POST /v1/policies/rate-limits",
    { ...rate, unit: "rpm", value: 5, group_by: [{ key: "nothing" }] },
    "group_by.0.key",
  ],
  ["POST /v1/policies/rate-limits", { ...rate, unit: "rpm", value: 5, name: "n".repeat(256) }, "name"],
  ["POST /v1/policies/rate-limits", { ...rate, unit: "rpm", value: 5, name: null }, undefined],
  ["POST /v1/api-keys/workspace/service", { name: "One", scopes: ["logs.list"] }, undefined],
  ["POST /v1/api-keys/workspace/service", { scopes: ["logs.list"] }, "name"],
  [
    "POST /v1/api-keys/workspace/service",
    { name: "One", scopes: ["logs.list"], rate_limits: [{ type: "requests", unit: "rpm", value: 0.5 }] },
    "rate_limits.0.value",
  ],
  [
    "POST /v1/api-keys/workspace/service",
    { name: "One", scopes: ["logs.list"], usage_limits: { credit_limit: -1 } },
    "usage_limits.credit_limit",
  ],
  [
    "POST /v1/secret-references",
    { ...vault, auth_config: { vault_auth_type: "token", vault_addr: "https://vault.example", vault_token: "t" } },
    undefined,
  ],
  [
    "POST /v1/secret-references",
    { ...vault, auth_config: { vault_auth_type: "token", vault_addr: "https://vault.example" } },
    "auth_config.vault_token",
  ],
];

for (const [row, body, path] of rows) {
  const said = path === undefined ? "nothing" : path;
  test(`complaintsOf() finds ${said} in ${row} ${JSON.stringify(body).slice(0, 160)}`, () => {
    const found = complaintsOf(schemaOf(row), body).map((complaint) => complaint.path);
    assert.deepEqual(found, path === undefined ? [] : [path]);
  });
}

test("the gateway names the same member", async () => {
  const named = rows.filter(([row]) => !row.endsWith("secret-references"));
  for (const [row, body, path] of named) {
    const { status, body: answer } = await call(one, row.replace(" /v1", " "), { key: workspaceKey, body });
    if (path === undefined) assert.equal(status, 200, JSON.stringify(answer));
    else assert.equal(Reflect.get(Object(answer.error), "param"), path, `${row} ${JSON.stringify(answer)}`);
  }
});

test("isRequired() says what every alternative of a body asks for", () => {
  const schema = schemaOf("POST /v1/secret-references");
  const names = ["name", "secret_path", "secret_key", "auth_config", "auth_config.vault_token"];
  assert.deepEqual(
    names.filter((name) => isRequired(schema, name)),
    ["name", "secret_path", "auth_config"],
  );
});
