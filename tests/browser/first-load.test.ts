// How much a browser loads for a page of the console, without a cache.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { assertClean, type ConsoleStand, noConsole, openStand, settle } from "./support.ts";

let stand: ConsoleStand;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  const answer = await fetch(`${stand.gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "x-gateway-api-key": stand.gateway.workspaceKey, "x-gateway-provider": "echo" },
    body: JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hello" }] }),
  });
  await answer.text();
});
after(() => stand?.close());

/** Most requests and kilobytes of scripts of a page, all requests counted: files, the session and calls of the API. */
for (const [path, key, requests, kilobytes] of [
  ["/", "workspaceKey", 12, 220],
  ["/", "adminKey", 13, 220],
  ["/logs", "workspaceKey", 12, 300],
  ["/analytics", "workspaceKey", 15, 460],
  ["/api-keys", "workspaceKey", 12, 340],
  ["/configs/new", "workspaceKey", 16, 480],
] as const) {
  test(`${path} takes at most ${requests} requests and ${kilobytes} KB of scripts with ${key}`, {
    skip: noConsole,
  }, async () => {
    const signed = await stand.signIn(stand.gateway[key]);
    const one = await stand.visit();
    await one.context.addCookies(await signed.context.cookies());
    const sizes = new Map<string, Promise<number>>();
    one.page.on("requestfinished", (request) => {
      sizes.set(
        request.url(),
        request.sizes().then(({ responseBodySize }) => responseBodySize),
      );
    });
    await one.open(path);
    await settle(one.page);
    const scripts = [...sizes].filter(([url]) => url.endsWith(".js"));
    const bytes = (await Promise.all(scripts.map(([, size]) => size))).reduce((sum, size) => sum + size, 0);
    assert.ok(sizes.size <= requests, `${sizes.size} requests:\n${[...sizes.keys()].join("\n")}`);
    assert.ok(bytes <= kilobytes * 1000, `${bytes} bytes of ${scripts.map(([url]) => url).join("\n")}`);
    assertClean(one);
  });
}
