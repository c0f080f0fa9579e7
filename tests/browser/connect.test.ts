// Integrations, tool servers, guardrails, limits, and what is made of a request, in a real browser.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { serveFetch } from "../mcp/conformance.ts";
import { createFixture } from "../mcp/fixture.ts";
import { eventually } from "../support/eventually.ts";
import { chat } from "./data.ts";
import {
  assertClean,
  type ConsolePage,
  type ConsoleStand,
  createRecord,
  deleteRecord,
  fillConfig,
  fillForm,
  noConsole,
  openStand,
  submitOf,
  textOf,
} from "./support.ts";

let stand: ConsoleStand;
let one: ConsolePage;
let provider: Awaited<ReturnType<typeof serveFetch>>;
let tools: Awaited<ReturnType<typeof serveFetch>>;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  tools = await serveFetch(createFixture());
  provider = await serveFetch(answerChat);
  for (const model of ["echo-1", "echo-2"]) await chat(stand, `Hello ${model}`, { model });
  one = await stand.signIn(stand.gateway.workspaceKey);
});
after(async () => {
  await stand?.close();
  tools?.stop();
  provider?.stop();
});

/** Switches something off and waits until the gateway says so. */
async function switchOff(page: Page, label: string): Promise<void> {
  const input = page.getByLabel(label, { exact: true });
  assert.equal(await input.isChecked(), true);
  await input.click({ force: true });
  await page.waitForFunction((name) => {
    const found = [...document.querySelectorAll("input")].find((one) => one.ariaLabel === name);
    return found?.checked === false;
  }, label);
}

/** A provider that answers each chat with one token. */
async function answerChat(request: Request): Promise<Response> {
  const { model } = await request.json();
  const message = { role: "assistant", content: "Aye" };
  return Response.json({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model,
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 },
  });
}

test("an integration gets a custom model with prices, and a request costs what they say", {
  skip: noConsole,
}, async () => {
  const { page } = one;
  await createRecord(one, "/integrations", {
    Name: "In house",
    Provider: "openai",
    Slug: "in-house",
    "API key": "sk-not-a-real-key",
    "Base URL": `${provider.url.replace("localhost", "127.0.0.1")}/v1`,
    Headers: { lines: [{ Name: "x-team", Value: "harbour" }] },
  });
  await page.getByRole("heading", { name: "In house" }).waitFor();
  const models = page.getByRole("region", { name: "Models" });
  await models.getByRole("button", { name: "Add model" }).click();
  await models.getByLabel("Name of the model").fill("harbour-1");
  await models.getByLabel("Input, dollars per million tokens").fill("200");
  await models.getByLabel("Output, dollars per million tokens").fill("400");
  await models.getByRole("button", { name: "Add model" }).click();
  await models.getByRole("row", { name: /harbour-1 \$200\.00 in, \$400\.00 out/ }).waitFor();
  await stand.call("POST /v1/chat/completions", stand.gateway.workspaceKey, {
    model: "@in-house/harbour-1",
    messages: [{ role: "user", content: "Hello" }],
  });
  await eventually("the log row of the request", async () => {
    const { data } = await stand.call("GET /v1/logs?model=harbour-1", stand.gateway.workspaceKey);
    return Array.isArray(data) && data.length === 1;
  });
  await one.open("/logs?model=harbour-1");
  await page.locator("[data-index='0']").click();
  await page.getByRole("tab", { name: "Usage and cost" }).click();
  // 1,000 tokens of 200 dollars a million and 100 of 400
  await page.getByText("$0.24").first().waitFor();
  assertClean(one);
});

test("settings of an integration are changed one by one: what is not touched stays, masked secrets too", {
  skip: noConsole,
}, async () => {
  const { page } = one;
  const integration = "/v1/integrations/private-line";
  const read = async () => (await stand.call(`GET ${integration}`, stand.gateway.workspaceKey)).configurations;
  await stand.call("POST /v1/integrations", stand.gateway.workspaceKey, {
    name: "Private line",
    slug: "private-line",
    ai_provider_id: "openai",
    create_default_provider: false,
    key: "sk-not-a-real-key",
    configurations: {
      openai_organization: "org-1",
      custom_headers: { authorization: "Bearer not-a-real-token", "x-team": "harbour", "x-old": "1" },
      oauth: { token_url: "https://login.example/token", client_id: "gateway", client_secret: "not-a-real-secret" },
    },
  });
  const before = JSON.parse(JSON.stringify(await read()));
  const sent: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "PUT") sent.push(request.postData() ?? "");
  });
  await one.open("/integrations/private-line");
  await page.getByText("org-1", { exact: true }).waitFor();
  await page.getByText("Organization", { exact: true }).waitFor();
  await one.open("/integrations/private-line/edit");
  await page.getByRole("group", { name: "OAuth client credentials" }).getByLabel("Client ID").fill("ship");
  await page.getByRole("group", { name: "Headers 3" }).getByRole("textbox", { name: "Value" }).fill("lighthouse");
  await page.getByRole("button", { name: "Remove Headers 2" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  // the form has the same heading
  await page.waitForURL(/\/integrations\/private-line$/);
  assert.deepEqual(
    sent.map((body) => JSON.parse(body)),
    [{ configurations: { oauth: { client_id: "ship" }, custom_headers: { "x-old": null, "x-team": "lighthouse" } } }],
  );
  const { "x-old": _, ...headers } = before.custom_headers;
  assert.deepEqual(await read(), {
    ...before,
    custom_headers: { ...headers, "x-team": "lighthouse" },
    oauth: { ...before.oauth, client_id: "ship" },
  });
  await deleteRecord(page, "Private line");
  assertClean(one);
});

test("a form asks for what the chosen provider needs", { skip: noConsole }, async () => {
  const { page } = one;
  await one.open("/integrations/new");
  await fillForm(page, { Name: "Cloud", Slug: "cloud", Provider: "bedrock", "Sign-in to AWS": "Assumed role" });
  assert.equal(await page.getByLabel("Secret access key").count(), 0);
  await fillForm(page, {
    Region: "eu-west-1",
    "ARN of the role": "arn:aws:iam::123456789012:role/gateway",
    "Create a provider in the workspaces": "off",
  });
  await submitOf(page).click();
  await page.getByRole("heading", { level: 1, name: "Cloud" }).waitFor();
  const { configurations } = await stand.call("GET /v1/integrations/cloud", stand.gateway.workspaceKey);
  assert.deepEqual(configurations, {
    aws_auth_type: "assumedRole",
    aws_region: "eu-west-1",
    aws_role_arn: "arn:aws:iam::123456789012:role/gateway",
  });
  await deleteRecord(page, "Cloud");
  assertClean(one);
});

test("a model of an integration is switched off and deleted", { skip: noConsole }, async () => {
  const { page } = one;
  await one.open("/integrations/in-house");
  const models = page.getByRole("region", { name: "Models" });
  await switchOff(page, "Enabled: harbour-1");
  await models.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("harbour-1");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await models.getByText("Every model of the provider is allowed.").waitFor();
  assertClean(one);
});

test("a guardrail is tried on a text that passes and on one that it denies", { skip: noConsole }, async () => {
  const { page } = one;
  await createRecord(one, "/guardrails", {
    Name: "No cards",
    "Add check": "Contains",
    Words: ["card"],
    "Passes with": "None of them",
    "Deny what fails": "on",
  });
  const form = page.getByRole("region", { name: "Test" });
  await form.getByLabel("Text to check").fill("The ship leaves at dawn");
  await form.getByRole("button", { name: "Run" }).click();
  await form.getByText("Passed", { exact: true }).first().waitFor();
  await form.getByLabel("Text to check").fill("Pay by card");
  await form.getByRole("button", { name: "Run" }).click();
  await form.getByText("Denied or failed", { exact: true }).first().waitFor();
  assertClean(one);
});

/** The inputs of a check in the form. */
const checkOf = (page: Page, label: string) => page.getByRole("group", { name: label, exact: true });

test("a guardrail with two checks is made and changed by its form, and what the form does not show stays", {
  skip: noConsole,
}, async () => {
  const { page } = one;
  const read = async (slug: string) => {
    const { checks, actions } = await stand.call(`GET /v1/guardrails/${slug}`, stand.gateway.workspaceKey);
    return JSON.parse(JSON.stringify({ checks, actions }));
  };
  await one.open("/guardrails/new");
  await fillForm(page, { Name: "Two checks", "Add check": "Contains" });
  const words = checkOf(page, "Check 1: Contains");
  await words.getByLabel("Words").fill("card");
  await page.keyboard.press("Enter");
  await fillForm(page, { "Passes with": "None of them", "Add check": "Word count" });
  const count = checkOf(page, "Check 2: Word count");
  await count.getByLabel("Max words").fill("20");
  await count.getByLabel("Invert the result").setChecked(true, { force: true });
  await count.getByRole("button", { name: "More" }).click();
  await fillForm(page, {
    "If it cannot decide": "Fail",
    "If a check cannot decide": "Pass",
    "Feedback if it fails": "-2",
  });
  await submitOf(page).click();
  await page.getByRole("heading", { level: 1, name: "Two checks" }).waitFor();
  const slug = page.url().split("/").at(-1) ?? "";
  const made = await read(slug);
  assert.deepEqual(
    made.checks.map(({ id, parameters }: Record<string, unknown>) => ({ id, parameters })),
    [
      { id: "default.contains", parameters: { words: ["card"], operator: "none" } },
      { id: "default.wordCount", parameters: { maxWords: 20, not: true, failOnError: true } },
    ],
  );
  assert.equal(made.actions.on_error, "pass");
  assert.equal(made.actions.on_fail.feedback.value, -2);
  assert.equal(made.actions.on_success.feedback.value, 5);
  await page.getByText('Contains: none of "card"').waitFor();

  const hidden = { ...made.checks[0], soft_deny_200: true };
  await stand.call(`PUT /v1/guardrails/${slug}`, stand.gateway.workspaceKey, {
    checks: [hidden, made.checks[1]],
    actions: { ...made.actions, on_fail: { feedback: { value: -2, weight: 0.5, metadata: "shift" } } },
  });
  const before = await read(slug);
  await one.open(`/guardrails/${slug}/edit`);
  await checkOf(page, "Check 2: Word count").getByLabel("Max words").fill("30");
  // the keyboard moves a check down and back: the button keeps the focus, or the other one at the end of the list
  await page.getByRole("button", { name: "Move Contains down" }).focus();
  await page.keyboard.press("Enter");
  await checkOf(page, "Check 2: Contains").waitFor();
  await page.waitForFunction(() => document.activeElement?.ariaLabel === "Move Contains up");
  await page.keyboard.press("Enter");
  await checkOf(page, "Check 1: Contains").waitFor();
  await checkOf(page, "Check 1: Contains").getByLabel("On", { exact: true }).setChecked(false, { force: true });
  const [passes, fails] = [page.getByLabel("Feedback if it passes"), page.getByLabel("Feedback if it fails")];
  assert.deepEqual([await passes.inputValue(), await fails.inputValue()], ["5", "-2"]);
  await passes.clear();
  await fails.press("ControlOrMeta+a");
  await page.keyboard.type("-3");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Off", { exact: true }).waitFor();
  const after = await read(slug);
  const [first, second] = before.checks;
  assert.deepEqual(after, {
    checks: [
      { ...first, is_enabled: false },
      { ...second, parameters: { ...second.parameters, maxWords: 30 } },
    ],
    actions: {
      ...before.actions,
      on_success: null,
      on_fail: { feedback: { value: -3, weight: 0.5, metadata: "shift" } },
    },
  });
  await deleteRecord(page, "Two checks");
  assertClean(one);
});

test("a budget shows what was used of it, and is reset", { skip: noConsole }, async () => {
  const { page } = one;
  await createRecord(one, "/usage-limits", {
    Name: "Tokens per key",
    Type: "Tokens",
    Limit: "1000",
    Conditions: { lines: [{ "Of the request": "Workspace", "Is one of": [stand.workspaceId] }] },
  });
  await page.getByText("Nothing counted in this period.").waitFor();
  await chat(stand, "one two three four five");
  await page.reload();
  const usage = page.getByRole("region", { name: "Usage now" });
  const row = usage.getByRole("row").nth(1);
  await row.waitFor();
  assert.match(await textOf(row), /First workspace key/);
  await row.getByRole("progressbar").waitFor();
  await row.getByRole("button", { name: "Reset usage" }).click();
  await row.getByRole("cell", { name: "0 of 1,000", exact: true }).waitFor();
  await deleteRecord(page, "Tokens per key");
  assertClean(one);
});

test("a rate limit that is made refuses the next request", { skip: noConsole }, async () => {
  const { page } = one;
  await createRecord(one, "/rate-limits", {
    Name: "One a week",
    Limit: "1",
    Unit: "Per week",
    Conditions: { lines: [{ "Is one of": ["slow-1"] }] },
  });
  await page.getByRole("heading", { name: "One a week" }).waitFor();
  assert.equal((await chat(stand, "Hello", { model: "slow-1" })).status, 200);
  assert.equal((await chat(stand, "Hello", { model: "slow-1" })).status, 429);
  await deleteRecord(page, "One a week");
  assert.equal((await chat(stand, "Hello", { model: "slow-1" })).status, 200);
  assertClean(one);
});

test("a tool server is added, its tools are listed, and one is switched off", { skip: noConsole }, async () => {
  const { page } = one;
  await createRecord(one, "/mcp-integrations", {
    Name: "Harbour tools",
    Slug: "harbour-tools",
    Address: `${tools.url.replace("localhost", "127.0.0.1")}/mcp`,
  });
  await page.getByRole("heading", { name: "Harbour tools" }).waitFor();
  await page.getByRole("button", { name: "Read capabilities" }).click();
  await page.getByText("The capabilities were read", { exact: true }).waitFor();
  await page.getByRole("cell", { name: "test_simple_text", exact: true }).waitFor();
  await createRecord(one, "/mcp-servers", {
    Name: "Harbour",
    Integration: "Harbour tools",
    Slug: "harbour",
  });
  await page.getByRole("heading", { name: "Harbour" }).waitFor();
  await one.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy address for clients" }).click();
  const address = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(new URL(address).pathname, "/m/harbour/mcp");
  // its integration asks for no account
  await page.getByRole("region", { name: "User access" }).waitFor();
  assert.equal(await page.getByRole("region", { name: "Connections" }).count(), 0);
  await switchOff(page, "Enabled: tool test_simple_text");
  await page.getByRole("button", { name: "Test connection" }).click();
  await page
    .getByRole("dialog")
    .getByText(/^The server answered in [\d.]+ m?s$/)
    .waitFor();
  assertClean(one);
});

test("servers are joined by a form, and a change of one setting leaves the others and the servers as they are", {
  skip: noConsole,
}, async () => {
  const { page } = one;
  const read = async () => {
    const { aggregate, settings } = await stand.call("GET /v1/mcp-servers/whole-port", stand.gateway.workspaceKey);
    return JSON.parse(JSON.stringify({ aggregate, settings }));
  };
  await createRecord(one, "/mcp-servers", {
    Name: "Whole port",
    Slug: "whole-port",
    "Made of": "Other MCP servers",
    "Joined servers": { lines: [{ "MCP server": "Harbour", Prefix: "dock", "Not these": ["test_error_handling"] }] },
    "Listed tools": "Two tools that find and call the others",
    "Longest call, in milliseconds": "30000",
  });
  await page.getByRole("heading", { level: 1, name: "Whole port" }).waitFor();
  await page.getByRole("link", { name: "Harbour", exact: true }).waitFor();
  await page.getByText("without test_error_handling").waitFor();
  const made = await read();
  assert.equal(made.settings.tool_mode, "search");
  assert.equal(made.settings.timeout_ms, 30_000);
  assert.equal(made.settings.check_arguments, true);
  assert.equal(made.aggregate.prefix_mode, "always");

  await one.open("/mcp-servers/whole-port/edit");
  await fillForm(page, { "Use of prefixes": "For names that clash" });
  await page.getByLabel("Refuse images, audio and files in results").setChecked(true, { force: true });
  await page.getByRole("button", { name: "Save" }).click();
  // the form has the same heading
  await page.waitForURL(/\/mcp-servers\/whole-port$/);
  assert.deepEqual(await read(), {
    aggregate: { ...made.aggregate, prefix_mode: "conditional" },
    settings: { ...made.settings, refuse_binary: true },
  });
  await deleteRecord(page, "Whole port");
  assertClean(one);
});

test("a link with filters shows them, and the row that is opened is copied as a command that works", {
  skip: noConsole,
}, async () => {
  const { page } = one;
  await one.open("/logs?model=echo-2&status_code=2xx");
  await page.locator("[data-index='0']").waitFor();
  assert.equal(await page.locator("[data-index]").count(), 1);
  await page.getByRole("button", { name: "Remove the filter Status" }).click();
  assert.equal(new URL(page.url()).searchParams.has("status_code"), false);
  await page.locator("[data-index='0']").click();
  await page.getByRole("button", { name: "Copy as code" }).click();
  await one.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("dialog").last().getByRole("button", { name: "Copy", exact: true }).click();
  const command = await page.evaluate(() => navigator.clipboard.readText());
  const { stdout } = await promisify(execFile)("sh", ["-c", command], {
    env: { PATH: process.env.PATH, GATEWAY_API_KEY: stand.gateway.workspaceKey },
  });
  assert.match(stdout, /"content":"Hello echo-2"/);
  assertClean(one);
});

test("a row of the log is opened in the playground, run again and saved as a prompt", {
  skip: noConsole,
}, async () => {
  const { page } = one;
  await one.open("/logs?model=echo-1");
  await page.locator("[data-index]").last().click();
  await page.getByRole("link", { name: "Open in playground" }).click();
  await page.getByRole("heading", { name: "Playground" }).waitFor();
  const column = page.getByRole("region", { name: "Column 1" });
  await column.getByRole("button", { name: "Run", exact: true }).click();
  await column.locator("p", { hasText: "Hello echo-1" }).waitFor();
  await column.getByRole("button", { name: "Save as prompt" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Of the log");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Of the log" }).waitFor();
  const { data } = await stand.call("GET /v1/prompts", stand.gateway.workspaceKey);
  assert.match(JSON.stringify(data), /Of the log/);
  assertClean(one);
});

test("a config is changed, its versions are compared, and it is deleted", { skip: noConsole }, async () => {
  const { page } = one;
  await one.open("/configs/new");
  await page.getByLabel("Name").first().fill("Two versions");
  await fillConfig(page, '{"provider": "echo", "retry": {"attempts": 1}}');
  await page.getByRole("button", { name: "Create config" }).click();
  await page.waitForURL(/\/configs\/pc-/);
  await fillConfig(page, '{"provider": "echo", "retry": {"attempts": 3}}');
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Save", disabled: true }).waitFor();
  await page.getByRole("tab", { name: "Versions" }).click();
  await page.locator(".cm-deletedChunk").first().waitFor();
  await deleteRecord(page, "Two versions");
  assertClean(one);
});

test("a prompt is deleted after its name was typed", { skip: noConsole }, async () => {
  const { page } = one;
  await one.open("/prompts");
  await page.getByRole("row", { name: /Of the log/ }).click();
  await page.getByRole("heading", { name: "Of the log" }).waitFor();
  await deleteRecord(page, "Of the log");
  await page.getByRole("row", { name: /Of the log/ }).waitFor({ state: "detached" });
  assertClean(one);
});
