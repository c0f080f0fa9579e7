import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { universalLabels } from "../../src/prompts/labels.ts";
import { maxTemplateLength } from "../../src/schemas/prompts.ts";
import { call, done, refusal } from "../support/control.ts";
import { createTestGateway, insertKey, type TestGateway, workspaceKey } from "../support/gateway.ts";

let gateway: TestGateway;
let collection = "";
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  const { data } = await ask<{ data: { id: string; is_default: number }[] }>("GET /collections");
  collection = data.find(({ is_default }) => is_default === 1)?.id ?? "";
});
after(() => gateway.close());

const key = workspaceKey;

function ask<Shape = Record<string, unknown>>(route: string, body?: object): Promise<Shape> {
  return done<Shape>(call<Shape>(gateway, route, { key, ...(body && { body }) }));
}

const refused = (route: string, body?: object) => refusal(call(gateway, route, { key, ...(body && { body }) }));

interface Receipt {
  id: string;
  slug: string;
  version_id: string;
  prompt_version_id: string;
}

const messages = JSON.stringify([
  { role: "system", content: "Be {{mood}}.{{>tone}}" },
  { role: "user", content: "{{#items}}{{name}} {{/items}}{{question}}" },
]);
const plain = { string: messages, parameters: { temperature: 0.5 }, virtual_key: "", model: "gpt-test" };
const create = (changes: object = {}) =>
  ask<Receipt>("POST /prompts", { name: "Welcome mail", collection_id: collection, ...plain, ...changes });

test("POST /prompts returns a receipt, GET shows the whole record", async () => {
  const tools = [{ type: "function", function: { name: "look" } }];
  const receipt = await create({
    tools,
    tool_choice: "auto",
    version_description: "first",
    template_metadata: { team: "mail" },
  });
  assert.match(receipt.slug, /^pp-welcome-ma-[0-9a-f]{6}$/);
  const record = await ask(`GET /prompts/${receipt.slug}`);
  assert.deepEqual(await ask(`GET /prompts/${receipt.id}`), record);
  const { created_at, last_updated_at, ...rest } = record;
  assert.match(String(created_at), /^\d{4}-.*Z$/);
  assert.equal(last_updated_at, created_at);
  assert.deepEqual(rest, {
    id: receipt.id,
    slug: receipt.slug,
    name: "Welcome mail",
    collection_id: collection,
    status: "active",
    prompt_owning_workspace_id: collection,
    allow_all_workspaces: 0,
    object: "prompt",
    string: messages,
    parameters: { temperature: 0.5 },
    model: "gpt-test",
    virtual_key: "",
    functions: null,
    tools,
    tool_choice: "auto",
    template_metadata: { team: "mail" },
    is_raw_template: 0,
    is_default: 1,
    prompt_version: 1,
    prompt_version_id: receipt.version_id,
    prompt_version_status: "active",
    prompt_version_description: "first",
    prompt_version_label_id: null,
    prompt_version_label_name: null,
    prompt_version_labels: [],
    variable_components: {
      variables: ["mood", "question"],
      sections: ["items"],
      partials: ["tone"],
      sectionVariables: ["name"],
      variablePartials: [],
    },
  });
});

test("PUT /prompts creates a version that is used only once it is the default", async () => {
  const { slug, id, version_id } = await create();
  const update = await ask<Receipt>(`PUT /prompts/${slug}`, { string: "Hello", parameters: {}, model: "other" });
  assert.deepEqual([update.id, update.slug], [id, slug]);
  const numbers = async (version: string) => {
    const record = await ask(`GET /prompts/${slug}?version=${version}`);
    return [record.prompt_version, record.string, record.model, record.tools];
  };
  assert.deepEqual(await numbers("default"), [1, messages, "gpt-test", null]);
  assert.deepEqual(await numbers("latest"), [2, "Hello", "other", null]);
  assert.deepEqual(await numbers("1"), [1, messages, "gpt-test", null]);
  assert.deepEqual(await ask(`PUT /prompts/${slug}/makeDefault`, { version: 2 }), {});
  assert.deepEqual(await numbers("default"), [2, "Hello", "other", null]);
  const versions = await ask<{ total: number; data: Record<string, unknown>[] }>(`GET /prompts/${id}/versions`);
  assert.equal(versions.total, 2);
  assert.deepEqual(
    versions.data.map((version) => [version.prompt_version, version.id, version.prompt_id, version.prompt_template]),
    [
      [2, update.prompt_version_id, id, "Hello"],
      [1, version_id, id, messages],
    ],
  );
  const second = await ask<{ data: { prompt_version: number }[] }>(
    `GET /prompts/${id}/versions?page_size=1&current_page=1`,
  );
  assert.deepEqual(
    second.data.map(({ prompt_version }) => prompt_version),
    [1],
  );
  const beyond = await ask<{ data: object[] }>(`GET /prompts/${id}/versions?current_page=9`);
  assert.deepEqual(beyond.data, []);
  const one = await ask(`GET /prompts/${id}/versions/${version_id}`);
  assert.deepEqual([one.prompt_version, one.is_default, one.string], [1, 0, messages]);
});

test("a patch takes absent fields from the latest version, null clears", async () => {
  const { slug } = await create({ tools: [{ type: "function" }], tool_choice: "auto" });
  assert.equal(await refused(`PUT /prompts/${slug}`, { string: "x" }), "400 AB01");
  assert.equal(await refused(`PUT /prompts/${slug}`, { string: "x", parameters: {} }), "400 AB01");
  await ask(`PUT /prompts/${slug}`, { patch: true, string: "x", tool_choice: null, is_raw_template: 1 });
  const record = await ask(`GET /prompts/${slug}?version=latest`);
  assert.deepEqual(
    [record.string, record.parameters, record.model, record.tools, record.tool_choice, record.is_raw_template],
    ["x", { temperature: 0.5 }, "gpt-test", [{ type: "function" }], null, 1],
  );
});

test("name and collection change without a new version", async () => {
  const { slug } = await create();
  const { id } = await ask<Receipt>("POST /collections", { name: "Support" });
  assert.deepEqual(await ask(`PUT /prompts/${slug}`, { name: "New", collection_id: id }), {});
  const record = await ask(`GET /prompts/${slug}`);
  assert.deepEqual([record.name, record.collection_id, record.prompt_version], ["New", id, 1]);
  const { data, total } = await ask<{ data: { slug: string }[]; total: number }>(`GET /prompts?collection_id=${id}`);
  assert.deepEqual([data.map((row) => row.slug), total], [[slug], 1]);
});

test("GET /prompts shows the labels of each prompt, and nothing of a deleted one", async () => {
  const { id: own } = await ask<Receipt>("POST /labels", { name: "listed" });
  const { id: collection_id } = await ask<Receipt>("POST /collections", { name: "Labelled" });
  const { slug, version_id } = await create({ name: "Labelled", collection_id });
  await create({ name: "Bare", collection_id });
  const production = universalLabels.find(({ name }) => name === "production")!;
  for (const label_id of [own, production.id]) await ask(`PUT /prompts/${slug}/versions/${version_id}`, { label_id });
  const labels = async () => {
    const { data } = await ask<{ data: { name: string; prompt_labels: { name: string }[] }[] }>(
      `GET /prompts?collection_id=${collection_id}`,
    );
    return Object.fromEntries(data.map(({ name, prompt_labels }) => [name, prompt_labels]));
  };
  const placed = (id: string, name: string) => ({ id, name, prompt_version_id: version_id });
  const byName = (one: { name: string }, other: { name: string }) => one.name.localeCompare(other.name);
  const { Labelled = [], Bare } = await labels();
  assert.deepEqual(Labelled.toSorted(byName), [placed(own, "listed"), placed(production.id, "production")]);
  assert.deepEqual(Bare, []);
  await ask(`DELETE /labels/${own}`);
  assert.deepEqual((await labels()).Labelled, [placed(production.id, "production")]);
});

test("GET /prompts has pages and a search", async () => {
  for (const name of ["Needle 1", "Needle 2", "Needle 100%"]) await create({ name });
  const list = async (query: string) => {
    const { data, total } = await ask<{ data: { name: string }[]; total: number }>(`GET /prompts?${query}`);
    return [data.length, total];
  };
  assert.deepEqual(await list("search=needle"), [3, 3]);
  assert.deepEqual(await list("search=needle&page_size=2"), [2, 3]);
  assert.deepEqual(await list("search=needle&page_size=2&current_page=1"), [1, 3]);
  assert.deepEqual(await list("search=needle&current_page=7"), [0, 3]);
  assert.deepEqual(await list("search=0%25"), [1, 1]);
  assert.equal(await refused("GET /prompts?search=n"), "400 AB01");
  assert.equal(await refused("GET /prompts?page_size=0"), "400 AB01");
});

test("a label is on one version of a prompt, and a version may have several", async () => {
  const { slug, id, version_id } = await create();
  const { prompt_version_id } = await ask<Receipt>(`PUT /prompts/${slug}`, { patch: true, string: "second" });
  const [production, staging] = universalLabels;
  assert.ok(production && staging);
  const { id: own } = await ask<Receipt>("POST /labels", { name: "canary" });
  for (const label of [production.id, staging.id, own]) {
    assert.deepEqual(await ask(`PUT /prompts/${id}/versions/${version_id}`, { label_id: label }), {});
  }
  const labelsOf = async (version: string) => {
    const record = await ask<{ prompt_version_labels: { name: string }[] }>(`GET /prompts/${slug}?version=${version}`);
    return record.prompt_version_labels.map(({ name }) => name).sort();
  };
  assert.deepEqual(await labelsOf("1"), ["canary", "production", "staging"]);
  await ask(`PUT /prompts/${id}/versions/${prompt_version_id}`, { label_id: production.id });
  assert.deepEqual([await labelsOf("1"), await labelsOf("production")], [["canary", "staging"], ["production"]]);
  const record = await ask(`GET /prompts/${slug}?version=2`);
  assert.deepEqual([record.prompt_version_label_id, record.prompt_version_label_name], [production.id, "production"]);
  await ask(`DELETE /labels/${own}`);
  assert.deepEqual(await labelsOf("1"), ["staging"]);
  assert.equal(await refused(`GET /prompts/${slug}?version=canary`), "404 AB08");
  await ask(`PUT /prompts/${id}/versions/${version_id}`, { label_id: null });
  assert.deepEqual(await labelsOf("1"), []);
  const unknown = crypto.randomUUID();
  assert.equal(await refused(`PUT /prompts/${id}/versions/${version_id}`, { label_id: unknown }), "404 AB02");
  assert.equal(await refused(`PUT /prompts/${id}/versions/${unknown}`, { label_id: own }), "404 AB08");
  assert.equal(await refused(`PUT /prompts/${id}/versions/${version_id}`, { string: "x" }), "400 AB01");
});

test("a version of another prompt is not found", async () => {
  const first = await create();
  const second = await create();
  assert.equal(await refused(`GET /prompts/${first.id}/versions/${second.version_id}`), "404 AB08");
  assert.equal(await refused(`PUT /prompts/${first.id}/makeDefault`, { version: 2 }), "404 AB02");
});

test("DELETE /prompts removes it", async () => {
  const { slug, id } = await create();
  assert.deepEqual(await ask(`DELETE /prompts/${slug}`), {});
  assert.equal(await refused(`GET /prompts/${id}`), "404 AB08");
  assert.equal(await refused(`DELETE /prompts/${id}`), "404 AB08");
});

const whole = { name: "n", collection_id: "default", ...plain };
for (const [name, changes, code, param] of [
  ["no name", { name: undefined }, "400 AB01", "name"],
  ["no collection", { collection_id: undefined }, "400 AB01", "collection_id"],
  ["no text", { string: undefined }, "400 AB01", "string"],
  ["an empty text", { string: "" }, "400 AB01", "string"],
  ["a text that is too long", { string: "x".repeat(maxTemplateLength + 1) }, "400 AB01", "string"],
  ["NUL in the text", { string: "a\0b" }, "400 AB01", "string"],
  ["a tag that is not closed", { string: "{{a" }, "400 AB01", "string"],
  ["a section that is not closed", { string: '[{"role":"user","content":"{{#a}}"}]' }, "400 AB01", "string"],
  ["a message without role", { string: '[{"content":"x"}]' }, "400 AB01", "string"],
  ["no parameters", { parameters: undefined }, "400 AB01", "parameters"],
  ["parameters that are a list", { parameters: [] }, "400 AB01", "parameters"],
  ["no virtual key", { virtual_key: undefined }, "400 AB01", "virtual_key"],
  ["tools that are no list", { tools: {} }, "400 AB01", "tools"],
  ["an unknown collection", { collection_id: "co-unknown" }, "404 AB02", "collection_id"],
  ["an unknown provider", { virtual_key: "@unknown" }, "404 AB02", "virtual_key"],
] as const) {
  test(`POST /prompts refuses ${name}`, async () => {
    const body = { ...whole, collection_id: collection, ...changes };
    const { status, body: answer } = await call<{ error: { code: string; param: string } }>(gateway, "POST /prompts", {
      key,
      body,
    });
    assert.deepEqual([`${status} ${answer.error.code}`, answer.error.param], [code, param]);
  });
}

test("a provider of the workspace is stored without the leading @", async () => {
  await ask("POST /integrations", {
    name: "Main",
    slug: "main-integration",
    ai_provider_id: "openai",
    key: "fake-secret-0000",
    create_default_provider: false,
  });
  await ask("POST /providers", { name: "Main", slug: "main", integration_id: "main-integration" });
  const { slug } = await create({ virtual_key: "@main" });
  await ask(`PUT /prompts/${slug}`, { string: "x", parameters: {}, model: "m" });
  assert.equal((await ask(`GET /prompts/${slug}?version=latest`)).virtual_key, "main");
});

test("partials have versions", async () => {
  const receipt = await ask<Receipt>("POST /prompts/partials", { name: "House tone", string: "Be {{mood}}" });
  assert.match(receipt.slug, /^pl-house-tone-[0-9a-f]{6}$/);
  const { slug, id } = receipt;
  const record = await ask(`GET /prompts/partials/${slug}`);
  assert.deepEqual(
    [record.string, record.version, record.version_description, record.collection_id, record.status, record.object],
    ["Be {{mood}}", 1, null, collection, "active", "partial"],
  );
  assert.equal(record.prompt_partial_version_id, receipt.version_id);
  const update = await ask(`PUT /prompts/partials/${id}`, { string: "Be kind", description: "shorter" });
  const latest = await ask(`GET /prompts/partials/${id}?version=latest`);
  assert.deepEqual([latest.version, latest.version_description], [2, "shorter"]);
  assert.equal(latest.prompt_partial_version_id, update.prompt_partial_version_id);
  assert.equal((await ask(`GET /prompts/partials/${id}`)).version, 1);
  assert.deepEqual(await ask(`PUT /prompts/partials/${id}/makeDefault`, { version: 2 }), {});
  assert.equal((await ask(`GET /prompts/partials/${id}`)).string, "Be kind");
  const versions = await ask<{ data: Record<string, unknown>[]; total: number }>(
    `GET /prompts/partials/${slug}/versions`,
  );
  assert.deepEqual(
    versions.data.map((version) => [version.version, version.string, version.object, version.prompt_partial_id]),
    [
      [2, "Be kind", "partial", id],
      [1, "Be {{mood}}", "partial", id],
    ],
  );
  assert.equal(await refused(`GET /prompts/partials/${slug}?version=production`), "404 AB08");
  assert.equal(await refused(`GET /prompts/partials/${slug}?version=3`), "404 AB08");
  assert.equal(await refused(`PUT /prompts/partials/${slug}/makeDefault`, { version: 3 }), "404 AB02");
  assert.equal(await refused("POST /prompts/partials", { name: "x", string: "{{#a}}" }), "400 AB01");
  await ask(`PUT /prompts/partials/${id}`, { name: "Tone", status: "archived" });
  const list = async (query: string) => {
    const { data } = await ask<{ data: { slug: string }[] }>(`GET /prompts/partials?${query}`);
    return data.some((row) => row.slug === slug);
  };
  assert.deepEqual([await list(""), await list("status=archived")], [false, true]);
  assert.deepEqual(await ask(`DELETE /prompts/partials/${id}`), {});
  assert.equal(await refused(`GET /prompts/partials/${id}`), "404 AB08");
});

test("an admin key names the workspace of a new prompt, or a collection in it", async () => {
  const admin = (route: string, body?: object) => call(gateway, route, body ? { body } : {});
  const body = { name: "By the admin", collection_id: collection, ...plain };
  // a slug may be in several workspaces
  const { collection_id: _, ...nowhere } = body;
  assert.equal(await refusal(admin("POST /prompts", { ...nowhere, collection_id: "some-slug" })), "400 AB01");
  const unnamed = await done<{ slug: string }>(call(gateway, "POST /prompts", { body }));
  assert.equal((await done(admin(`GET /prompts/${unnamed.slug}`))).collection_id, collection);
  assert.equal(await refusal(admin("POST /prompts", { ...body, workspace_id: "other" })), "403 AB03");
  const { slug } = await done(admin("POST /prompts", { ...body, workspace_id: "default" }));
  assert.equal((await done(admin(`GET /prompts/${slug}`))).name, "By the admin");
});

test("changes of prompts are audited with kind and verb", async () => {
  const { id, slug } = await create();
  await ask(`PUT /prompts/${slug}/makeDefault`, { version: 1 });
  await ask(`DELETE /prompts/${slug}`);
  const { records } = await done<{ records: Record<string, unknown>[] }>(
    call(gateway, "GET /audit-logs?page_size=100&start_time=2020-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z"),
  );
  const own = records.filter((record) => record.resource_id === id);
  assert.deepEqual(own.map((record) => `${record.resource_type} ${record.action}`).sort(), [
    "prompts create",
    "prompts delete",
    "prompts publish",
  ]);
});

test("a key that may only publish can make versions the default and nothing else", async () => {
  const { slug } = await create();
  const { key: publisher } = mintApiKey("gk");
  await insertKey(await gateway.openFile(), publisher, { scopes: JSON.stringify(["prompts.publish"]) });
  const asPublisher = (route: string, body: object) => call(gateway, route, { key: publisher, body });
  assert.deepEqual(await done(asPublisher(`PUT /prompts/${slug}/makeDefault`, { version: 1 })), {});
  assert.equal(await refusal(asPublisher(`PUT /prompts/${slug}`, { name: "x" })), "403 AB03");
});

test("a workspace with prompts is deleted by force only, with all of them", async () => {
  const { id: workspace_id } = await done<Receipt>(
    call<Receipt>(gateway, "POST /admin/workspaces", { body: { name: "Short lived" } }),
  );
  const admin = (route: string, body: object) => done(call(gateway, route, { body: { ...body, workspace_id } }));
  await admin("POST /prompts", { name: "p", collection_id: workspace_id, ...plain });
  await admin("POST /prompts/partials", { name: "p", string: "x" });
  await admin("POST /collections", { name: "c" });
  await admin("POST /labels", { name: "l" });
  const remove = (body: object) => call(gateway, `DELETE /admin/workspaces/${workspace_id}`, { body });
  assert.equal(await refusal(remove({ name: "Short lived" })), "409 AB07");
  await done(remove({ name: "Short lived", force_delete: true }));
  const database = await gateway.openFile();
  for (const table of [
    "prompts",
    "prompt_versions",
    "prompt_partials",
    "prompt_partial_versions",
    "collections",
    "labels",
    "prompt_labels",
  ]) {
    const { rows } = await database.read(`SELECT 1 FROM ${table} WHERE workspace_id = '${workspace_id}'`);
    assert.equal(rows.length, 0, table);
  }
});
