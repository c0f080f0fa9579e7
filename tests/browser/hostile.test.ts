// What a tenant, a model or a tool server wrote is words: nothing of it runs, and nothing is loaded from elsewhere.

import { after, before, test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { chat, fillStand } from "./data.ts";
import { assertHarmless as check, hit, planted } from "./planted.ts";
import { type ConsoleStand, listPages, noConsole, openStand } from "./support.ts";

let stand: ConsoleStand;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  await fillStand(stand, `<img src=x onerror="${hit}">`);
  const metadata = '{"constructor": "toString", "__proto__": "valueOf", "_user": "hasOwnProperty"}';
  await chat(stand, "names of what every object has", {}, { "x-gateway-metadata": metadata });
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
  let rows: readonly { readonly id?: unknown }[] = [];
  await eventually("the rows of all requests", async () => {
    const { data } = await call("GET /v1/logs?limit=100", gateway.workspaceKey);
    rows = Array.isArray(data) ? data : [];
    return rows.length >= planted.length * 2;
  });
  const one = await stand.signIn(gateway.workspaceKey);
  for (const { id } of rows) {
    await one.open(`/logs/${id}`);
    await one.page.waitForLoadState("networkidle");
    await check(one, `/logs/${id}`);
  }
});
