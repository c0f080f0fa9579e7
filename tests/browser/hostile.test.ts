// What a tenant, a model or a tool server wrote is words: nothing of it runs, and nothing is loaded from elsewhere.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chat, fillStand } from "./data.ts";
import { type ConsolePage, type ConsoleStand, listPages, noConsole, openStand } from "./support.ts";

const hit = "globalThis.wasRun=true";
const elsewhere = "https://elsewhere.example";

const planted: readonly string[] = [
  `<script>${hit}</script>`,
  `<img src=x onerror="${hit}">`,
  `<img src="${elsewhere}/a.png">`,
  `<svg onload="${hit}"></svg>`,
  `<svg><script>${hit}</script></svg>`,
  `<iframe src="javascript:${hit}"></iframe>`,
  `<iframe src="${elsewhere}"></iframe>`,
  `<a href="javascript:${hit}">link</a>`,
  `[link](javascript:${hit})`,
  `[link](data:text/html,<script>${hit}</script>)`,
  `![image](${elsewhere}/b.png)`,
  `![image](${elsewhere}/c.png "title")`,
  `<link rel=stylesheet href="${elsewhere}/d.css">`,
  `<style>@import "${elsewhere}/e.css"; body{background:url(${elsewhere}/f.png)}</style>`,
  `<form action="${elsewhere}"><button autofocus onfocus="${hit}">x</button></form>`,
  `<math><mtext><img src=x onerror="${hit}"></mtext></math>`,
  `"><body onload="${hit}">`,
  `{{constructor.constructor("${hit}")()}}`,
  "\u001b[31mred\u001b]8;;https://elsewhere.example\u0007link\u001b]8;;\u0007",
  "\u202egnp.exe\u2066\u200bname",
];

let stand: ConsoleStand;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  await fillStand(stand, `<img src=x onerror="${hit}">`);
  for (const text of planted) {
    const call = { id: "call_1", type: "function", function: { name: "look_up", arguments: JSON.stringify({ text }) } };
    await chat(stand, text, {
      messages: [
        { role: "system", content: text },
        { role: "user", content: text },
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "call_1", content: text },
        { role: "user", content: text },
      ],
      user: text,
    });
    // an error whose message holds the words
    await chat(stand, text, { model: `@${text.replaceAll(/[^ -~]/g, "")}/x` });
    await stand.call("POST /v1/collections", stand.gateway.workspaceKey, { name: text.replaceAll(/[^ -~]/g, "-") });
  }
});
after(() => stand?.close());

async function check(one: ConsolePage, address: string): Promise<void> {
  assert.deepEqual(one.problems.splice(0), [], address);
  assert.equal(await one.page.evaluate(() => Reflect.get(globalThis, "wasRun")), undefined, address);
  const foreign = await one.page.evaluate(
    () =>
      document.querySelectorAll(
        "script:not([src]), iframe, a[href^='javascript:'], a[href^='data:'], [onerror], [onload], [onfocus]",
      ).length,
  );
  assert.equal(foreign, 0, address);
}

for (const who of ["workspaceKey", "adminKey"] as const) {
  test(`planted strings stay words on every page of the ${who}`, { skip: noConsole }, async () => {
    const one = await stand.signIn(stand.gateway[who]);
    for (const address of await listPages(one)) {
      await one.open(address);
      await one.page.waitForLoadState("networkidle");
      await check(one, address);
    }
  });
}

test("planted strings stay words in every opened row of the log", { skip: noConsole }, async () => {
  const { gateway, call } = stand;
  const { data } = await call("GET /v1/logs?limit=100", gateway.workspaceKey);
  const rows = Array.isArray(data) ? data : [];
  assert.ok(rows.length >= planted.length * 2, String(rows.length));
  const one = await stand.signIn(gateway.workspaceKey);
  for (const { id } of rows) {
    await one.open(`/logs/${id}`);
    await one.page.waitForLoadState("networkidle");
    await check(one, `/logs/${id}`);
  }
});
