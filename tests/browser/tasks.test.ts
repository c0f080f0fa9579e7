// Everyday tasks from the first page on, with at most so many clicks: of the mouse, without what is typed.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { serveFetch } from "../mcp/conformance.ts";
import { createFixture } from "../mcp/fixture.ts";
import { eventually } from "../support/eventually.ts";
import { chat, fillStand } from "./data.ts";
import {
  assertClean,
  type ConsolePage,
  type ConsoleStand,
  enterKey,
  fillForm,
  noConsole,
  openStand,
  saveWith,
  submitOf,
  takeSecret,
} from "./support.ts";

let stand: ConsoleStand;
let tools: Awaited<ReturnType<typeof serveFetch>>;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  tools = await serveFetch(createFixture());
  await fillStand(stand);
  await chat(stand, "It fails", {}, { "x-gateway-echo-status": "503" });
  for (const team of ["red", "blue"])
    await chat(stand, `Of ${team}`, { model: `of-${team}` }, { "x-gateway-metadata": `{"_user":"${team}"}` });
  await eventually("the rows", async () => {
    const { data } = await stand.call("GET /v1/logs?model=of-blue", stand.gateway.workspaceKey);
    return Array.isArray(data) && data.length === 1;
  });
});
after(async () => {
  await stand?.close();
  tools?.stop();
});

interface Task {
  readonly title: string;
  /** Most clicks. */
  readonly most: number;
  readonly key?: "adminKey" | "workspaceKey";
  readonly run: (one: ConsolePage) => Promise<void>;
}

const link = (page: Page, name: string): Locator =>
  page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true });
const main = (page: Page): Locator => page.getByRole("main");

async function askEcho(page: Page, content: string): Promise<void> {
  await page.getByRole("combobox", { name: "Provider" }).first().fill("echo");
  await page.keyboard.press("Escape");
  await page.getByRole("combobox", { name: "Model" }).first().fill("echo-1");
  await page.keyboard.press("Escape");
  await page.getByLabel("Text of message 2").first().fill(content);
}

const tasks: readonly Task[] = [
  {
    title: "a workspace and a key for it are made",
    most: 11,
    key: "adminKey",
    async run({ page }) {
      await link(page, "Workspaces").click();
      await page.getByRole("link", { name: "Create workspace" }).click();
      await fillForm(page, { Name: "Harbour" });
      await submitOf(page).click();
      await page.getByRole("heading", { level: 1, name: "Harbour" }).waitFor();
      await page.reload();
      await link(page, "API keys").click();
      await page.getByRole("link", { name: "Create API key" }).click();
      await fillForm(page, { Workspace: "Harbour", Name: "Of the harbour" });
      await page.getByRole("button", { name: "Call models" }).click();
      await submitOf(page).click();
      assert.ok((await takeSecret(page)).length > 20);
    },
  },
  {
    title: "a provider is stored",
    most: 5,
    async run({ page }) {
      await link(page, "Integrations").click();
      await page.getByRole("link", { name: "Add integration" }).click();
      await fillForm(page, { Name: "Second", Provider: "echo", Slug: "second" });
      await submitOf(page).click();
      await page.getByRole("heading", { level: 1, name: "Second" }).waitFor();
    },
  },
  {
    title: "a model is called in the playground",
    most: 6,
    async run({ page }) {
      await link(page, "Playground").click();
      await askEcho(page, "Ships leave at dawn");
      await page.getByRole("region", { name: "Column 1" }).getByRole("button", { name: "Run" }).click();
      await page.locator("p", { hasText: "Ships leave at dawn" }).waitFor();
    },
  },
  {
    title: "why a request failed is read",
    most: 3,
    async run({ page }) {
      await link(page, "Logs").click();
      await page.locator("[data-index='0']").waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("status: 5xx");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Remove the filter Status" }).waitFor();
      await page.locator("[data-index='0']").click();
      await page.getByRole("dialog").getByRole("alert").first().waitFor();
    },
  },
  {
    title: "cost is read by user over the days",
    most: 4,
    async run({ page }) {
      await link(page, "Analytics").click();
      const group = page.getByRole("combobox", { name: "Group by", exact: true });
      await group.click();
      await group.fill("User");
      await page.getByRole("option", { name: "User", exact: true }).click();
      await page.getByRole("heading", { name: "Cost over time by user" }).waitFor();
      await page.getByRole("table", { name: /by/ }).getByText("blue", { exact: true }).waitFor();
    },
  },
  {
    title: "a budget of 50 dollars a month is made",
    most: 8,
    async run({ page }) {
      await link(page, "Usage limits").click();
      await page.getByRole("link", { name: "Create usage limit" }).click();
      await fillForm(page, {
        Name: "Fifty",
        Limit: "50",
        Conditions: { lines: [{ "Of the request": "Workspace", "Is one of": [stand.workspaceId] }] },
      });
      await submitOf(page).click();
      await page.getByRole("heading", { level: 1, name: "Fifty" }).waitFor();
    },
  },
  {
    title: "a guardrail is made and tried on a text",
    most: 7,
    async run({ page }) {
      await link(page, "Guardrails").click();
      await page.getByRole("link", { name: "Create guardrail" }).click();
      await fillForm(page, { Name: "Cards", "Add check": "Contains", Words: ["card"] });
      await submitOf(page).click();
      const form = page.getByRole("region", { name: "Test" });
      await form.getByLabel("Text to check").fill("Pay by card");
      await form.getByRole("button", { name: "Run" }).click();
      await form.getByText("Passed", { exact: true }).first().waitFor();
    },
  },
  {
    title: "an MCP server is added and one of its tools is called",
    most: 11,
    async run({ page }) {
      await link(page, "MCP integrations").click();
      await page.getByRole("link", { name: "Add MCP integration" }).click();
      const address = `${tools.url.replace("localhost", "127.0.0.1")}/mcp`;
      await fillForm(page, { Name: "Harbour tools", Slug: "harbour-tools", Address: address });
      await submitOf(page).click();
      await page.getByRole("button", { name: "Read capabilities" }).click();
      await page.getByRole("cell", { name: "test_simple_text", exact: true }).waitFor();
      await link(page, "MCP servers").click();
      await page.getByRole("link", { name: "Add MCP server" }).click();
      await fillForm(page, { Name: "Harbour", Slug: "harbour", Integration: "Harbour tools" });
      await submitOf(page).click();
      await page.getByRole("link", { name: "test_simple_text" }).click();
      await page.getByRole("button", { name: "Run", exact: true }).click();
      await page.getByText(/^The server answered in/).waitFor();
    },
  },
  {
    title: "a link to a version of a prompt is opened",
    most: 4,
    async run({ page }) {
      await link(page, "Prompts").click();
      await main(page)
        .getByRole("row", { name: /Example/ })
        .click();
      await page.getByRole("tab", { name: "Versions" }).click();
      await page.getByRole("row", { name: /^1/ }).waitFor();
      const { href } = new URL(page.url());
      await page.goto(`${href.replace(/\?.*/, "")}?version=1`);
      await page.getByRole("heading", { level: 1, name: "Example" }).waitFor();
    },
  },
  {
    title: "two versions of a config are compared",
    most: 3,
    async run({ page }) {
      await link(page, "Configs").click();
      await main(page)
        .getByRole("row", { name: /Compared/ })
        .click();
      await page.getByRole("tab", { name: "Versions" }).click();
      await page.locator(".cm-deletedChunk").first().waitFor();
    },
  },
  {
    title: "requests are followed as they end",
    most: 2,
    async run({ page }) {
      await link(page, "Logs").click();
      await page.getByRole("button", { name: "Live tail" }).click();
      await page.getByText("Connected: requests appear as they end").waitFor();
      await chat(stand, "now", { model: "tail-1" });
      await page.getByText("tail-1", { exact: true }).waitFor();
    },
  },
  {
    title: "a request is sent again to another model",
    most: 4,
    async run({ page }) {
      await link(page, "Logs").click();
      await page.locator("[data-index='0']").waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("model=of-red");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Remove the filter Model" }).waitFor();
      await page.locator("[data-index='0']").click();
      await page.getByRole("tab", { name: "Replay" }).click();
      await page.getByLabel("Or a config as JSON").fill('{"provider":"echo","override_params":{"model":"echo-3"}}');
      await page.getByRole("button", { name: "Replay the request" }).click();
      await page.getByText("echo · echo-3").waitFor();
    },
  },
  {
    title: "rows of the log are exported",
    most: 5,
    async run({ page }) {
      await link(page, "Exports").click();
      await page.getByRole("link", { name: "Create export" }).click();
      await fillForm(page, { Description: "Of the task" });
      await submitOf(page).click();
      await page.getByRole("button", { name: "Start" }).click();
      const download = page.getByRole("button", { name: "Download" });
      await download.waitFor();
      assert.match((await saveWith(page, download)).text, /of-red/);
    },
  },
  {
    title: "a person is invited",
    most: 7,
    key: "adminKey",
    async run({ page }) {
      await link(page, "Invites").click();
      await page.getByRole("link", { name: "Invite user" }).click();
      await fillForm(page, {
        "E-mail": "ada@example.com",
        Workspaces: ["default"],
        "Role in the workspaces": "Member",
      });
      await submitOf(page).click();
      await page.getByRole("dialog").locator("pre").waitFor();
    },
  },
  {
    title: "the audit trail is read",
    most: 1,
    key: "adminKey",
    async run({ page }) {
      await link(page, "Audit log").click();
      await page
        .getByRole("row", { name: /Create/ })
        .first()
        .waitFor();
    },
  },
];

for (const { title, most, key = "workspaceKey", run } of tasks) {
  test(`${title} with at most ${most} clicks`, { skip: noConsole }, async () => {
    const one = await stand.signIn(stand.gateway[key]);
    let clicks = 0;
    await one.context.exposeFunction("countClick", () => {
      clicks++;
    });
    // a key that presses a button makes a click too, without a detail
    const listen = () =>
      addEventListener(
        "click",
        (event) => {
          if (event.isTrusted && event.detail > 0) Reflect.get(globalThis, "countClick")();
        },
        true,
      );
    await one.context.addInitScript(listen);
    await one.open("/");
    if (title.startsWith("two versions")) await makeVersions();
    await run(one);
    assert.ok(clicks <= most, `${clicks} clicks`);
    assertClean(one);
    await one.context.close();
  });
}

/** A config of two versions. */
async function makeVersions(): Promise<void> {
  const config = (attempts: number) => ({ provider: "echo", retry: { attempts } });
  const { workspaceKey } = stand.gateway;
  const { slug } = await stand.call("POST /v1/configs", workspaceKey, { name: "Compared", config: config(1) });
  await stand.call(`PUT /v1/configs/${slug}`, workspaceKey, { config: config(3) });
}

test("a key signs in with one click", { skip: noConsole }, async () => {
  const one = await stand.visit();
  await one.page.goto(`${stand.gateway.url}/console`);
  await enterKey(one.page, stand.gateway.workspaceKey);
  await one.page.getByRole("button", { name: "Account" }).waitFor();
  await one.context.close();
});
