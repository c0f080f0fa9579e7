// The overview of an empty gateway leads to the first request, in a real browser.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { serveFetch } from "../mcp/conformance.ts";
import { findings } from "./axe.ts";
import {
  assertClean,
  type ConsolePage,
  type ConsoleStand,
  fillForm,
  noConsole,
  openStand,
  submitOf,
  textOf,
} from "./support.ts";

const hit = "globalThis.wasRun=true";
const planted = `Wrong key <img src=x onerror="${hit}">`;

let stand: ConsoleStand;
let refuses: Awaited<ReturnType<typeof serveFetch>>;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  refuses = await serveFetch(async () => Response.json({ error: { message: planted } }, { status: 401 }));
});
after(async () => {
  await stand?.close();
  refuses?.stop();
});

const step = ({ page }: ConsolePage, name: string) => page.getByRole("listitem", { name: new RegExp(`: ${name}`) });
const done = ({ page }: ConsolePage, name: string) =>
  page.getByRole("listitem", { name: new RegExp(`: ${name}, done$`) });

test("an empty gateway leads from a provider to the first request in the log", { skip: noConsole }, async () => {
  const one = await stand.signIn(stand.gateway.adminKey, { width: 390, scheme: "dark" });
  const { page } = one;
  assert.equal(await done(one, "").count(), 0);
  assert.deepEqual(await findings(one), []);
  await step(one, "Store a provider").getByRole("link", { name: "Choose a provider" }).click();
  await page.getByRole("heading", { level: 1, name: "Add integration" }).waitFor();
  await page.getByRole("combobox", { name: /^Provider/ }).fill("mistral");
  await page.getByText("Services that check text").waitFor();
  await fillForm(page, {
    Name: planted,
    Provider: "openai",
    Slug: "house",
    "API key": "sk-not-a-real-key",
    "Base URL": `${refuses.url.replace("localhost", "127.0.0.1")}/v1`,
  });
  await submitOf(page).click();
  await page.getByRole("heading", { level: 1, name: planted }).waitFor();

  await one.open("/");
  await done(one, "Store a provider").waitFor();
  await step(one, "Test it").getByRole("button", { name: "Test the provider" }).click();
  await step(one, "Test it").getByText(planted).waitFor();
  assert.equal(await done(one, "Test it").count(), 0);
  await stand.call("PUT /v1/integrations/house", stand.gateway.workspaceKey, { name: "House" });
  await stand.call("POST /v1/integrations", stand.gateway.workspaceKey, {
    name: "Answers",
    slug: "answers",
    ai_provider_id: "echo",
    create_default_provider: true,
    default_provider_slug: "answers",
  });
  await page.reload();
  await fillForm(page, { "Provider to use": "Answers" }, step(one, "Test it"));
  await step(one, "Test it").getByRole("button", { name: "Test the provider" }).click();
  await done(one, "Test it").waitFor();

  const send = step(one, "Send the first request");
  await send.getByText("$GATEWAY_KEY").first().waitFor();
  await step(one, "Make a key").getByRole("button", { name: "Make the key" }).click();
  await done(one, "Make a key").waitFor();
  await send.getByLabel("Model").fill("echo-1");
  const command = await textOf(send.getByRole("tabpanel").locator("pre"));
  assert.match(command, /@answers\/echo-1/);
  const { stdout } = await promisify(execFile)("sh", ["-c", command]);
  assert.equal(JSON.parse(stdout).choices[0].message.content, "Hello");
  await done(one, "See it in the log").waitFor();
  await done(one, "Send the first request").waitFor();
  for (const kind of ["OpenAI, Python", "Anthropic, Python", "Claude Code", "Codex"]) {
    await send.getByRole("tab", { name: kind }).click();
    assert.match(await textOf(send.getByRole("tabpanel").locator("pre")), new RegExp(stand.gateway.url));
  }
  assert.deepEqual(await findings(one), []);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  await page.getByRole("link", { name: "Open it in the log" }).click();
  await page.getByRole("heading", { level: 1, name: /echo-1/ }).waitFor();
  assert.equal(await page.evaluate(() => Reflect.get(globalThis, "wasRun")), undefined);
  assertClean(one);

  const made = await stand.call("GET /v1/api-keys?page_size=100", stand.gateway.workspaceKey);
  const keys = Array.isArray(made.data) ? made.data : [];
  assert.deepEqual(
    keys.filter(({ name }) => name === "First steps: call models").map(({ scopes }) => scopes),
    [["completions.write"]],
  );
});

test("presets choose the scopes that a kind of key may have", { skip: noConsole }, async () => {
  const one = await stand.signIn(stand.gateway.adminKey);
  const { page } = one;
  await one.open("/api-keys/new");
  await page.getByRole("button", { name: "Whole workspace" }).click();
  await fillForm(page, { Name: "Of all" });
  await submitOf(page).click();
  await page.getByRole("dialog", { name: "Copy the secret now" }).waitFor();
  assertClean(one);
});
