// Example sets and runs in a real browser: 20 examples over two models with a verdict, a rating, a winner.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { findings } from "./axe.ts";
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
