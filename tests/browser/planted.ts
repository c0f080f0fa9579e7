// Strings of others that would do something if a page took them for more than words.

import assert from "node:assert/strict";
import type { ConsolePage } from "./support.ts";

export const hit = "globalThis.wasRun=true";
const elsewhere = "https://elsewhere.example";

export const planted: readonly string[] = [
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
  "constructor",
  "__proto__",
  "\u202egnp.exe\u2066\u200bname",
];

/** Fails if a page ran, loaded or linked to what was planted. */
export async function assertHarmless(one: ConsolePage, address: string): Promise<void> {
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
