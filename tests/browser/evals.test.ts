// Example sets and runs in a real browser: 20 examples over two models with a verdict, a rating, a winner.

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { after, before, test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { findings } from "./axe.ts";
import { chat } from "./data.ts";
import {
  assertClean,
  type ConsoleStand,
  createRecord,
  fillForm,
  noConsole,
  openStand,
  saveWith,
  textOf,
} from "./support.ts";

const planted = `<img src=x onerror="globalThis.wasRun=true">`;
/** What examples may hold that a page must show as text: markup, drawings, Markdown, escapes of terminals, long words. */
const hostile = [
  planted,
  `<svg onload="globalThis.wasRun=true"><script>globalThis.wasRun=true</script></svg>`,
  "[link](javascript:globalThis.wasRun=true) ![x](https://evil.example/x.png)",
  "\u001b[31mred\u001b[0m \u202egnp.exe",
  "x".repeat(5_000),
  "",
];
const contents = [...hostile, ...Array.from({ length: 14 }, (_, index) => `Say word ${index}`)];

let stand: ConsoleStand;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  const { workspaceKey } = stand.gateway;
  const integration = { name: "Echo", ai_provider_id: "echo", slug: "echo", create_default_provider: true };
  await stand.call("POST /v1/integrations", workspaceKey, { ...integration, default_provider_slug: "echo" });
  const config = { provider: "@echo", override_params: { model: "echo-0" } };
  await stand.call("POST /v1/configs", workspaceKey, { name: "Serving", config });
});
after(() => stand?.close());

test("20 examples are run over two models, judged, rated, compared and promoted", { skip: noConsole }, async () => {
  const { workspaceKey } = stand.gateway;
  const one = await stand.signIn(workspaceKey);
  const { page } = one;
  const examples = contents.map((content) => ({
    body: { model: "m", messages: [{ role: "user", content }] },
    expected: "word",
  }));
  await createRecord(one, "/example-sets", {
    Name: planted,
    "Examples from": "JSON",
    Examples: JSON.stringify(examples),
  });
  await page.getByRole("heading", { level: 1, name: planted }).waitFor();
  await page.getByRole("table", { name: "Examples of version 1" }).waitFor();
  assert.equal(await page.getByRole("table", { name: "Examples of version 1" }).getByRole("row").count(), 21);
  assert.deepEqual(await findings(one), []);

  await createRecord(one, "/eval-runs", {
    "Example set": planted,
    Variants: {
      lines: [
        { Model: "@echo/echo-1", Name: planted },
        { Model: "@echo/echo-2", Name: "second" },
      ],
    },
    Checks: { lines: [{}] },
    "Budget in US dollars": "1",
  });
  await page.getByText("20 of 20").or(page.getByText("40 of 40")).first().waitFor();
  await page.getByText("completed", { exact: false }).first().waitFor();
  const totals = page.getByRole("table", { name: "Variants" });
  await totals.waitFor();
  assert.match(await textOf(totals.getByRole("row").nth(2)), /second.*70 ?%/s);

  const answers = page.getByRole("table", { name: "Answers" });
  assert.equal(await answers.getByRole("row").count(), 21);
  assert.match(await textOf(answers.getByRole("row").nth(1)), /<img src=x/);
  await answers.getByRole("button", { name: "Good: second, example 7" }).click();
  await answers.getByRole("button", { name: "Good: second, example 7", pressed: true }).waitFor();
  await answers.getByRole("row").nth(8).getByRole("button", { name: "Compare" }).click();
  const dialog = page.getByRole("dialog", { name: "Example 7" });
  await dialog.getByText("second against Expected").waitFor();
  await dialog.locator(".cm-content").last().waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  const { name, text } = await saveWith(page, page.getByRole("button", { name: "Download CSV" }));
  assert.match(name, /^eval-.*\.csv$/);
  assert.equal(text.split("\r\n")[0]?.startsWith("example,input,expected,variant"), true);

  const { data } = await stand.call("GET /v1/configs", workspaceKey);
  const { slug } = (data as { slug: string }[])[0] ?? { slug: "" };
  const promote = page.getByRole("region", { name: "Make the default" });
  await fillForm(page, { Variant: "second", "Saved config": slug }, promote);
  await promote.getByRole("button", { name: "Make the default" }).click();
  await page.getByText(`${slug} was changed.`).waitFor();
  const saved = await stand.call(`GET /v1/configs/${slug}`, workspaceKey);
  assert.equal(JSON.parse(String(saved.config)).override_params.model, "echo-2");

  assert.deepEqual(await findings(one), []);
  await page.setViewportSize({ width: 390, height: 844 });
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  assert.equal(await page.evaluate(() => Reflect.get(globalThis, "wasRun")), undefined);
  assertClean(one);
});

test("requests that the log shows become examples, and a file their next version", { skip: noConsole }, async () => {
  const one = await stand.signIn(stand.gateway.workspaceKey);
  const { page } = one;
  for (const content of ["One", "Two", "Three"]) await chat(stand, content, { model: "echo-log" });
  await eventually("the rows are stored", async () => {
    const { data } = await stand.call("GET /v1/logs?model=echo-log", stand.gateway.workspaceKey);
    return Array.isArray(data) && data.length === 3;
  });
  await one.open("/logs?model=echo-log");
  await page.locator("[data-index='2']").waitFor();
  await page.getByRole("button", { name: "Save as examples" }).click();
  const dialog = page.getByRole("dialog", { name: "Save as examples" });
  await dialog.getByLabel("Name").fill("Of the log");
  await dialog.getByRole("button", { name: "Save as examples" }).click();
  await page.getByRole("heading", { level: 1, name: "Of the log" }).waitFor();
  await page.getByRole("table", { name: "Examples of version 1" }).waitFor();
  assert.equal(await page.getByRole("table", { name: "Examples of version 1" }).getByRole("row").count(), 4);

  const upload = async (content: string) => {
    const [chooser] = await Promise.all([
      page.waitForEvent("filechooser"),
      page.getByRole("button", { name: "New version from a file" }).click(),
    ]);
    await chooser.setFiles({ name: "a.jsonl", mimeType: "application/jsonl", buffer: Buffer.from(content) });
  };
  await upload(`{"body": {"messages": []}}\n\n{${planted}`);
  await page.getByText("Line 3 is no JSON").waitFor();
  await upload(`{"body": {"messages": [{"role": "user", "content": "Hi"}]}, "expected": "Hello"}\n`);
  await page.getByRole("table", { name: "Versions" }).getByRole("row").nth(2).waitFor();
  assert.deepEqual(await findings(one), []);
  assertClean(one);
});
