// Files, batches, exports, settings and the audit log in a real browser: work that goes on while the page is open.

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { changeOrganisation, chat, readOrganisation, toBatchLines } from "./data.ts";
import {
  assertClean,
  type ConsolePage,
  type ConsoleStand,
  createRecord,
  deleteRecord,
  editorOf,
  fillCode,
  fillForm,
  noConsole,
  openStand,
  saveWith,
  submitOf,
  textOf,
} from "./support.ts";

let stand: ConsoleStand;
let one: ConsolePage;
let admin: ConsolePage;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  for (const content of ["First", "Second"]) await chat(stand, content);
  one = await stand.signIn(stand.gateway.workspaceKey);
  admin = await stand.signIn(stand.gateway.adminKey);
});
after(() => stand?.close());

async function upload(page: Page, name: string, text: string): Promise<void> {
  await one.open("/files/new");
  await page
    .locator("input[type=file]")
    .setInputFiles({ name, mimeType: "application/jsonl", buffer: Buffer.from(text) });
  await submitOf(page).click();
  await page.getByRole("heading", { name }).waitFor();
}

/** Waits until the open record shows a status, without another look at the address. */
const status = (page: Page, word: string) =>
  page.getByRole("main").locator("dd").getByText(word, { exact: true }).first().waitFor();

/** Makes a batch of an uploaded file whose calls take a while. */
async function createBatch(input: string, delayMs: number): Promise<void> {
  await createRecord(one, "/batches", {
    "Input file": input,
    "Time window": "Immediate",
    "Headers of the calls": {
      lines: [
        { Name: "x-gateway-provider", Value: "echo" },
        { Name: "x-gateway-echo-delay-ms", Value: String(delayMs) },
      ],
    },
  });
}

test("a file is uploaded, downloaded as it was and deleted", { skip: noConsole }, async () => {
  const { page } = one;
  const text = toBatchLines(["Good morning"]);
  await upload(page, "greetings.jsonl", text);
  const saved = await saveWith(page, page.getByRole("button", { name: "Download" }));
  assert.deepEqual(saved, { name: "greetings.jsonl", text });
  await deleteRecord(page, "greetings.jsonl");
  const { data } = await stand.call("GET /v1/files", stand.gateway.workspaceKey);
  assert.deepEqual(data, []);
  assertClean(one);
});

test("a file that is no list of requests is refused with the gateway's reason", { skip: noConsole }, async () => {
  const { page } = one;
  await one.open("/files/new");
  const buffer = Buffer.from("not JSON");
  await page.locator("input[type=file]").setInputFiles({ name: "words.jsonl", mimeType: "text/plain", buffer });
  await submitOf(page).click();
  assert.match(await textOf(page.getByRole("alert")), /no line of it is a JSON object[\s\S]*Status 400[\s\S]*Trace ID/);
  assertClean(one);
});

test("a batch of an uploaded file is watched to its end, and its output downloaded", { skip: noConsole }, async () => {
  const { page } = one;
  await upload(page, "questions.jsonl", toBatchLines(["Good morning", "Good evening"]));
  await createBatch("questions.jsonl", 1500);
  await status(page, "in progress");
  await status(page, "completed");
  await page.getByText("2 of 2", { exact: true }).waitFor();
  const { name, text } = await saveWith(page, page.getByRole("button", { name: "Download" }));
  assert.match(name, /^gw_batch_.*-output\.jsonl$/);
  const answers = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).response.body.choices[0].message.content);
  assert.deepEqual(answers.toSorted(), ["Good evening", "Good morning"]);
  assertClean(one);
});

test("a running batch is cancelled", { skip: noConsole }, async () => {
  const { page } = one;
  const texts = Array.from({ length: 60 }, (_, index) => `Question ${index}`);
  await upload(page, "many.jsonl", toBatchLines(texts));
  await createBatch("many.jsonl", 2000);
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await status(page, "Cancelled");
  const { data } = await stand.call("GET /v1/batches", stand.gateway.workspaceKey);
  const counts = Array.isArray(data) ? data[0]?.request_counts : undefined;
  assert.ok(counts.completed < 60, JSON.stringify(counts));
  assertClean(one);
});

test("an export is made, started, watched to its end and downloaded", { skip: noConsole }, async () => {
  const { page } = one;
  await createRecord(one, "/exports", {
    Description: "All of today",
    Models: ["echo-1"],
    Fields: ["Request"],
  });
  await page.getByRole("heading", { name: "All of today" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Download" }).count(), 0);
  await page.getByRole("button", { name: "Start" }).click();
  await status(page, "success");
  const { text } = await saveWith(page, page.getByRole("button", { name: "Download" }));
  assert.match(text, /"content":"First"/);
  assert.match(text, /"content":"Second"/);
  assertClean(one);
});

test("a running export is stopped", { skip: noConsole }, async () => {
  const { page } = one;
  const { gateway, call } = stand;
  const make = async () => {
    const made = await call("POST /v1/logs/exports", gateway.workspaceKey, {
      filters: {},
      requested_data: ["id", "request", "response"],
    });
    return String(made.id);
  };
  // one process writes one export at a time: the others before it let this one wait
  const long = "word ".repeat(4000);
  await Promise.all(Array.from({ length: 60 }, () => chat(stand, long)));
  const before = await Promise.all(Array.from({ length: 8 }, make));
  await createRecord(one, "/exports", { Description: "Too much" });
  await page.getByRole("heading", { name: "Too much" }).waitFor();
  await Promise.all(before.map((id) => call(`POST /v1/logs/exports/${id}/start`, gateway.workspaceKey)));
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await status(page, "stopped");
  assertClean(one);
});

test("settings of the organisation are changed, and what the gateway refuses is said", {
  skip: noConsole,
}, async () => {
  const { page } = admin;
  await admin.open("/settings");
  const save = page.getByRole("button", { name: "Save" });
  await page.getByText("JSON", { exact: true }).click();
  await page.locator('[aria-label="Organisation"] .cm-line').first().waitFor();
  await fillCode(page, editorOf(page, "Organisation"), '{"name": "Harbour", "log_retention_days": -1}');
  await save.click();
  assert.match(await textOf(page.getByRole("alert")), /log_retention_days[\s\S]*Status 400/);
  await fillCode(page, editorOf(page, "Organisation"), '{"name": "Harbour"}');
  await save.click();
  await page.getByRole("alert").filter({ hasText: "Status 400" }).waitFor({ state: "hidden" });
  const name = page.getByLabel("Name", { exact: true });
  await name.waitFor();
  assert.equal(await name.inputValue(), "Harbour");
  assertClean(admin);
});

test("the form of the settings sends what was changed: a time, a price, a limit that goes and a permission", {
  skip: noConsole,
}, async () => {
  const { page } = admin;
  await changeOrganisation(stand, { user_api_key_count: 3 });
  await admin.open("/settings");
  const save = page.getByRole("button", { name: "Save" });
  await page.getByLabel("Log rows are deleted after").fill("40");
  assert.equal(await page.getByLabel("Fallback price of input tokens").count(), 0);
  await page.getByRole("combobox", { name: "Models without a price" }).click();
  await page.getByRole("option", { name: "Fallback" }).click();
  await page.getByLabel("Fallback price of input tokens").fill("5");
  await page.getByLabel("Fallback price of output tokens").fill("25");
  await page.getByLabel("Longest time in the cache", { exact: true }).fill("1.5");
  await page.getByRole("combobox", { name: "Longest time in the cache: unit" }).click();
  await page.getByRole("option", { name: "hours" }).click();
  await page.getByLabel("Maximum keys per user").fill("");
  await page.getByLabel("Members: view configs").setChecked(false);
  const [sent] = await Promise.all([
    page.waitForRequest((request) => request.method() === "PUT" && request.url().includes("/v1/organisations/")),
    save.click(),
  ]);
  assert.deepEqual(sent.postDataJSON(), {
    log_retention_days: 40,
    unpriced_models: "fallback",
    fallback_price: { input: 5, output: 25 },
    default_cache_ttl: 5400,
    user_api_key_count: -1,
    security_settings: { membersViewConfigs: false },
  });
  await page.getByRole("alert").filter({ hasText: "Saved" }).first().waitFor();
  const stored = await readOrganisation(stand);
  assert.equal(stored.log_retention_days, 40);
  const { membersViewConfigs, membersViewPrompts } = Object(stored.security_settings);
  assert.deepEqual({ membersViewConfigs, membersViewPrompts }, { membersViewConfigs: false, membersViewPrompts: true });
  assert.equal(await save.isDisabled(), true);
  assert.equal(await page.getByLabel("Longest time in the cache", { exact: true }).inputValue(), "90");
  assert.equal(await page.getByRole("combobox", { name: "Longest time in the cache: unit" }).inputValue(), "minutes");
  assertClean(admin);
});

test("a change of one member of a setting that is an object leaves the others as they are", {
  skip: noConsole,
}, async () => {
  const { page } = admin;
  const semantic = { model: "embed-1", dimensions: 64 };
  await changeOrganisation(stand, { semantic_cache: semantic });
  await admin.open("/settings");
  await page.getByLabel("Semantic cache: model of embeddings").fill("embed-2");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").filter({ hasText: "Saved" }).first().waitFor();
  const stored = await readOrganisation(stand);
  assert.deepEqual(stored.semantic_cache, { model: "embed-2", dimensions: 64 });
  assertClean(admin);
});

test("what the metadata of keys must hold is entered by lines", { skip: noConsole }, async () => {
  const { page } = admin;
  await admin.open("/settings");
  const main = page.getByRole("main");
  await fillForm(
    page,
    { "Metadata of API keys": { lines: [{ Name: "team", "Allowed values": ["search", "ads"], Required: "on" }] } },
    main,
  );
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").filter({ hasText: "Saved" }).first().waitFor();
  const stored = await readOrganisation(stand);
  assert.deepEqual(stored.api_key_metadata_schema, {
    type: "object",
    properties: { team: { type: "string", enum: ["search", "ads"] } },
    required: ["team"],
    additionalProperties: true,
  });
  await changeOrganisation(stand, { api_key_metadata_schema: null });
  assertClean(admin);
});

test("the identity provider is entered by its members, and stays in force when one of them changes", {
  skip: noConsole,
}, async () => {
  const { page } = admin;
  await admin.open("/settings");
  await page.getByRole("tab", { name: "Sign-in and tokens" }).click();
  const send = async () => {
    const [sent] = await Promise.all([
      page.waitForRequest((request) => request.method() === "PUT" && request.url().endsWith("/auth-settings")),
      page.getByRole("button", { name: "Save" }).click(),
    ]);
    // the form shows what is stored now
    await page.locator("button:disabled:not([data-loading])", { hasText: "Save" }).waitFor();
    return sent.postDataJSON();
  };
  await page.getByLabel("Identity provider (issuer)").fill("https://login.example");
  await page.getByLabel("Client ID").fill("gateway");
  const urls = page.getByRole("combobox", { name: "Addresses of key sets" });
  for (const url of ["https://one.example/keys", "https://two.example/keys"]) {
    await urls.fill(url);
    await urls.press("Enter");
  }
  assert.deepEqual(await send(), {
    jwks_url: "https://one.example/keys,https://two.example/keys",
    oidc: { issuer: "https://login.example", client_id: "gateway" },
  });
  await page.getByLabel("Scope", { exact: true }).fill("openid email groups");
  assert.deepEqual(await send(), {
    oidc: { issuer: "https://login.example", client_id: "gateway", scope: "openid email groups" },
  });
  for (const label of ["Identity provider (issuer)", "Client ID", "Scope"]) {
    await page.getByLabel(label, { exact: true }).fill("");
  }
  assert.deepEqual(await send(), { oidc: null });
  assertClean(admin);
});

test("the default guardrails of the organisation are chosen by their names", { skip: noConsole }, async () => {
  const { page } = admin;
  const guardrail = await stand.call("POST /v1/guardrails", stand.gateway.adminKey, {
    name: "For everybody",
    checks: [{ id: "default.contains", parameters: { words: ["card"], operator: "none" } }],
  });
  await admin.open("/settings");
  await page.getByRole("tab", { name: "Guardrails" }).click();
  const onRequests = page.getByRole("combobox", { name: "On requests" });
  await onRequests.click();
  await page.getByRole("option", { name: "For everybody" }).first().click();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").filter({ hasText: "Saved" }).waitFor();
  const stored = await stand.call("GET /v1/admin/organisation/defaults", stand.gateway.adminKey);
  assert.match(JSON.stringify(stored), new RegExp(String(guardrail.slug)));
  await page.getByRole("group", { name: "Guardrails of every request" }).getByText("For everybody").waitFor();
  assertClean(admin);
});

test("what was typed as JSON is in the form afterwards, or one stays with the JSON and reads why", {
  skip: noConsole,
}, async () => {
  const { page } = admin;
  await admin.open("/settings");
  const choose = (side: string) =>
    page.getByRole("radiogroup", { name: "Form" }).getByText(side, { exact: true }).click();
  await page.getByLabel("Log rows are deleted after").waitFor();
  await choose("JSON");
  const editor = editorOf(page, "Organisation");
  await editor.locator(".cm-line").first().waitFor();
  await fillCode(page, editor, '{"log_retention_days": 31, "default_cache_ttl": 7200, "log_colour": "red"}');
  await choose("Form");
  assert.match(await textOf(page.getByRole("alert").filter({ hasText: "form" })), /cannot show log_colour/);
  await fillCode(page, editor, '{"log_retention_days": 31, "default_cache_ttl"');
  await choose("Form");
  await page.getByRole("alert").filter({ hasText: "not valid JSON" }).waitFor();
  await fillCode(page, editor, '{"log_retention_days": 31, "default_cache_ttl": 7200}');
  await choose("Form");
  assert.equal(await page.getByLabel("Log rows are deleted after").inputValue(), "31");
  assert.equal(await page.getByLabel("Longest time in the cache", { exact: true }).inputValue(), "2");
  assert.equal(await page.getByRole("combobox", { name: "Longest time in the cache: unit" }).inputValue(), "hours");
  const [sent] = await Promise.all([
    page.waitForRequest((request) => request.method() === "PUT" && request.url().includes("/v1/organisations/")),
    page.getByRole("button", { name: "Save" }).click(),
  ]);
  assert.deepEqual(sent.postDataJSON(), { log_retention_days: 31, default_cache_ttl: 7200 });
  await page.getByRole("alert").filter({ hasText: "Saved" }).first().waitFor();
  assertClean(admin);
});

test("the audit log is filtered, a record names who made the change, and the chain is verified", {
  skip: noConsole,
}, async () => {
  const { page } = admin;
  await stand.call("POST /v1/collections", stand.gateway.workspaceKey, { name: "Audited" });
  await admin.open("/audit");
  await page.getByRole("combobox", { name: "Resource" }).fill("coll");
  await page.getByRole("option", { name: "Collections" }).click();
  await page.getByRole("row", { name: /First workspace key Create Collections/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("First workspace key").waitFor();
  await dialog.locator(".cm-line", { hasText: '"name": "Audited"' }).waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  assert.equal(new URL(page.url()).searchParams.get("resource_type"), "collections");
  await page.getByRole("button", { name: "Verify the chain" }).click();
  await page.getByText(/^The chain of \d+ records is unbroken$/).waitFor();
  assertClean(admin);
});

test("an admin key chooses the workspace in place, and a record is made there", { skip: noConsole }, async () => {
  const { page } = admin;
  await admin.open("/rate-limits/new");
  await page.getByRole("main").getByRole("button", { name: "default", exact: true }).click();
  await fillForm(page, { Name: "Of the workspace", Limit: "600", Conditions: { lines: [{ "Is one of": ["none"] }] } });
  await submitOf(page).click();
  await page.getByRole("heading", { name: "Of the workspace" }).waitFor();
  const { data } = await stand.call(
    `GET /v1/policies/rate-limits?workspace_id=${stand.workspaceId}`,
    stand.gateway.adminKey,
  );
  assert.match(JSON.stringify(data), /Of the workspace/);
  assertClean(admin);
});

test("a graph is saved as CSV", { skip: noConsole }, async () => {
  const { page } = admin;
  await admin.open("/analytics?range=24h");
  await page.getByRole("heading", { name: "Requests", exact: true }).waitFor();
  const { text } = await saveWith(page, page.getByRole("button", { name: "CSV" }).first());
  assert.match(text, /^[^\r\n]*,[^\r\n]*\r\n\d{4}-\d\d-\d\d/);
  assertClean(admin);
});
