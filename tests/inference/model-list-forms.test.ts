// Every field that docs/models.md names is in the list of its form, and what is not known is in none.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isObject } from "../../src/lib/json.ts";
import { call, done } from "../support/control.ts";
import { createTestGateway, requestHeaders, workspaceKey } from "../support/gateway.ts";
import { repository } from "../support/source-files.ts";

const gateway = await createTestGateway();
after(() => gateway.close());

/** Everything that can be said of a model. */
const facts = {
  contextWindow: 64_000,
  maxInputTokens: 60_000,
  maxOutputTokens: 4_000,
  inputs: ["text", "image", "file", "audio", "video"],
  outputs: ["text", "audio"],
  takesTools: true,
  reasons: true,
  efforts: ["low", "high"],
  thinking: "either",
  responseSchemas: "native",
  retiredOn: "2031-01-02",
};
const kinds = ["request_token", "response_token", "cache_read_input_token", "cache_write_input_token"];
const prices = { pay_as_you_go: Object.fromEntries(kinds.map((kind) => [kind, { price: 0.0001 }])) };
const lesser = { ...facts, contextWindow: 32_000, efforts: ["low"], sampling: "none", responseSchemas: "none" };

before(async () => {
  const as = { key: workspaceKey };
  const integration = { name: "m", slug: "main-i", ai_provider_id: "openai", key: "k", create_default_provider: false };
  await done(call(gateway, "POST /integrations", { ...as, body: integration }));
  await done(call(gateway, "POST /providers", { ...as, body: { name: "m", slug: "main", integration_id: "main-i" } }));
  const known = { enabled: true, is_custom: true, pricing_config: prices };
  const models = [
    { ...known, slug: "known", model_facts: facts },
    { ...known, slug: "lesser", model_facts: lesser },
    { slug: "unheard-of", enabled: true, is_custom: true },
  ];
  await done(call(gateway, "PUT /integrations/main-i/models", { ...as, body: { models, allow_all_models: false } }));
  for (const [name, others] of [
    ["pool", ["@main/known", "@main/lesser"]],
    ["half", ["@main/known", "@main/unheard-of"]],
  ] as const) {
    const body = { name, target: { pool: { models: others.map((model) => ({ model })) } } };
    await done(call(gateway, "POST /model-aliases", { ...as, body }));
  }
});

type Members = Record<string, unknown>;

/** How each form of the table is read, by the head of its column. */
const forms: Readonly<Record<string, (id: string) => Promise<Members>>> = {
  "OpenAI's form, with OpenRouter's fields": (id) => get(`/v1/models/${id}`),
  "Anthropic's form": (id) => get(`/v1/models/${id}`, { "anthropic-version": "2023-06-01" }),
  "LiteLLM's `model_info`": async (id) => {
    const { data } = await get(`/model/info?litellm_model_id=${encodeURIComponent(id)}`);
    return (data as { model_info: Members }[])[0]?.model_info ?? {}; // the form of the list
  },
  "Google's form": (id) => get(`/v1beta/models/${id}`),
};

async function get(path: string, more: Record<string, string> = {}): Promise<Members> {
  const response = await gateway.fetch(path, { headers: requestHeaders({ "x-gateway-provider": null, ...more }) });
  assert.equal(response.status, 200, path);
  return response.json();
}

interface Named {
  form: string;
  field: string;
  /** The list that has the field as an item. */
  list: string | undefined;
}

/** Fields that a cell names: `a`, `a.b`, `.c` beside it, or `a`, `b` in `list`. */
function readCell(form: string, cell: string): Named[] {
  const [names = "", list] = cell
    .split(" in ")
    .map((part) => [...part.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
  let parent = "";
  return [...names].map((name) => {
    const field = name.startsWith(".") ? parent + name : name;
    parent = field.includes(".") ? field.slice(0, field.lastIndexOf(".")) : parent;
    return { form, field, list: list?.[0] };
  });
}

/** The fields of the first table of the page. */
function listFields(): Named[] {
  const page = readFileSync(join(repository, "docs/models.md"), "utf8");
  const rows = page.split("\n").filter((line) => line.startsWith("| ") || line.startsWith("|-"));
  const end = rows.findIndex((line, index) => index > 1 && line.startsWith("|-"));
  const [head = "", , ...body] = rows.slice(0, end - 1);
  const cellsOf = (line: string) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
  const [, ...names] = cellsOf(head);
  return body.flatMap((line) =>
    cellsOf(line)
      .slice(1)
      .flatMap((cell, index) => readCell(names[index] ?? "", cell)),
  );
}

const valueAt = (model: unknown, path: string): unknown =>
  path.split(".").reduce((value, name) => (isObject(value) ? value[name] : undefined), model);

/** Fields that models have of which nothing is known. */
const always = ["owned_by", "ai_service", "provider", "litellm_provider", "supportedGenerationMethods", "lifecycle"];

test("the table of forms names fields of all four", () => {
  const named = listFields();
  assert.deepEqual([...new Set(named.map(({ form }) => form))].sort(), Object.keys(forms).sort());
  assert.ok(named.length > 40, `${named.length}`);
});

for (const { form, field, list } of listFields()) {
  test(`${form} has ${field}${list === undefined ? "" : ` in ${list}`} of a known model, and not of an unknown one`, async () => {
    const read = forms[form];
    assert.ok(read);
    const [known, unknown] = [await read("@main/known"), await read("@main/unheard-of")];
    if (list !== undefined) {
      assert.ok((known[list] as string[]).includes(field), JSON.stringify(known)); // a list of names
      assert.equal(unknown[list], undefined);
      return;
    }
    assert.ok(valueAt(known, field) != null, JSON.stringify(known));
    if (!always.includes(field)) assert.equal(valueAt(unknown, field) ?? undefined, undefined, JSON.stringify(unknown));
  });
}

test("a pool has what holds for all of its models, in each form", async () => {
  const [openai, anthropic, litellm, google] = await Promise.all(Object.values(forms).map((read) => read("pool")));
  assert.equal(openai?.context_length, 32_000);
  assert.deepEqual(openai?.supported_parameters, [
    "max_tokens",
    "tools",
    "tool_choice",
    "reasoning",
    "include_reasoning",
    "reasoning_effort",
  ]);
  const effort = valueAt(anthropic, "capabilities.effort");
  assert.partialDeepStrictEqual(effort, { low: { supported: true }, high: { supported: false } });
  assert.deepEqual(valueAt(anthropic, "capabilities.structured_outputs"), { supported: false });
  assert.deepEqual([litellm?.max_input_tokens, google?.inputTokenLimit], [60_000, 60_000]);
});

test("of a pool with a model of which nothing is known, nothing is said", async () => {
  const { context_length, supported_parameters, architecture } = await get("/v1/models/half");
  assert.deepEqual([context_length, supported_parameters, architecture], [undefined, undefined, undefined]);
});
