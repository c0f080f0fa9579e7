import assert from "node:assert/strict";
import { test } from "node:test";
import { indexedFields, metadataField, type StringFieldName } from "../../../src/logs/index/fields.ts";
import { hintsOf, isWanted, type RowFilter } from "../../../src/logs/index/row-test.ts";
import type { LogDetails } from "../../../src/schemas/logs.ts";

const attempt = { label: "config.targets[0]", provider: "openai", model: "m", status: 200, duration_ms: 1, retries: 0 };

/** A row with a value in every field of the index that has strings. */
const row: LogDetails = {
  id: "01KE3SQ6G0000000000000000A",
  organisation_id: "o",
  workspace_id: "w",
  api_key_id: "k",
  user_id: "u",
  method: "POST",
  path: "/v1/chat/completions",
  operation: "chat",
  status: 200,
  provider: "openai",
  model: "m",
  virtual_key: "main",
  mcp: { server_id: "s", server: "files", method: "tools/call", name: "read" },
  integration_id: "i",
  trace_id: "t",
  span_id: "s",
  session_id: "chat-1",
  parent_span_id: null,
  span_name: null,
  metadata: { _user: "ann", team: "blue" },
  stream: false,
  duration_ms: 1,
  first_byte_ms: null,
  upstream_ms: null,
  upstream_url: null,
  upstream_calls: 1,
  config: "pc-a",
  attempts: [attempt, { ...attempt, name: "candidate" }],
  requested_model: "fast",
  shadow_of: "01KE3SQ6G0000000000000000B",
  prompt_slug: "pp-a",
  labels: { region: "eu", zero_retention: true },
  cache_status: "MISS",
  source: "console",
  usage: null,
  cost: 0,
  cost_currency: "USD",
  priced: true,
  error: { type: "e", code: "c", message: "m" },
};

const filterOf = (changes: Partial<RowFilter>): RowFilter => ({
  lower: "",
  upper: "~",
  conditions: [],
  terms: {},
  ...changes,
});

const names = Object.entries(indexedFields).flatMap(([name, field]) => (field.kind === "strings" ? [name] : []));
const fields = [...names, metadataField("team")] as StringFieldName[]; // the kind of each is checked

for (const field of fields) {
  test(`a row that is wanted by its ${field} is not passed over`, () => {
    const value = field === "metadata.team" ? "blue" : String(Object(indexedFields)[field].of(row));
    assert.notEqual(value, "null", "the row has a value");
    const filter = filterOf({ conditions: [{ field, oneOf: new Set([value]) }] });
    assert.ok(isWanted(row, filter, 1));
    const stored = JSON.stringify([row]);
    assert.deepEqual(
      hintsOf(filter).filter((hint) => !stored.includes(hint)),
      [],
    );
  });
}

for (const [name, terms] of [
  ["trace", { traces: new Set(["t"]) }],
  ["span", { spans: new Set(["s"]) }],
  ["original", { originals: new Set(["01KE3SQ6G0000000000000000B"]) }],
] as const) {
  test(`a row that is wanted by its ${name} is not passed over`, () => {
    const filter = filterOf({ terms });
    assert.ok(isWanted(row, filter, 1));
    for (const hint of hintsOf(filter)) assert.ok(JSON.stringify([row]).includes(hint));
    assert.equal(hintsOf(filter).length, 1);
  });
}
