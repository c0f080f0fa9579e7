// The console behind a proxy that has the gateway below a path, in a real browser.

import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, describe, test } from "node:test";
import { startServer, type Upstream } from "../support/upstream.ts";
import { chat } from "./data.ts";
import {
  assertClean,
  type ConsolePage,
  type ConsoleStand,
  noConsole,
  openBrowser,
  openStand,
  settle,
} from "./support.ts";

/** A proxy with the gateway below `/gateway` of its host, and another application everywhere else. */
function startProxy(target: string, takesOff: boolean): Promise<Upstream> {
  return startServer((message, response) => {
    const { method = "GET", url = "/", headers } = message;
    if (!/^\/gateway(?:[/?]|$)/.test(url)) return void response.writeHead(418).end("another application");
    const path = takesOff ? url.replace(/^\/gateway/, "").replace(/^(?!\/)/, "/") : url;
    const named = takesOff ? { "x-forwarded-prefix": "/gateway" } : {};
    const passed = request(target + path, { method, headers: { ...headers, ...named } }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on("error", () => response.destroy());
    message.pipe(passed);
  });
}

for (const { name, env, takesOff } of [
  { name: "passes the path on", env: { BASE_PATH: "/gateway" }, takesOff: false },
  { name: "takes the path off and names it", env: { TRUSTED_PROXIES: "127.0.0.1" }, takesOff: true },
] as const) {
  describe(`behind a proxy that ${name}`, () => {
    let stand: ConsoleStand;
    let proxy: Upstream;
    let browser: Awaited<ReturnType<typeof openBrowser>>;
    let one: ConsolePage;
    before(async () => {
      if (noConsole) return;
      stand = await openStand(env);
      for (const content of ["Hello", "Once more"]) await chat(stand, content, {});
      proxy = await startProxy(stand.gateway.url, takesOff);
      // what a page loads from outside the path is a problem
      browser = await openBrowser({ ...stand.gateway, url: `${proxy.url}/gateway` });
      one = await browser.signIn(stand.gateway.workspaceKey);
    });
    after(async () => {
      await browser?.close();
      await proxy?.close();
      await stand?.close();
    });
    const pathOf = () => new URL(one.page.url()).pathname;

    test("the log opens, a row of it, and that page again when it is loaded anew", { skip: noConsole }, async () => {
      const { page, open } = one;
      await open("/logs");
      assert.equal(pathOf(), "/gateway/console/logs");
      await page.locator("[data-index='0']").click();
      await page.keyboard.press("Escape");
      const { data } = await stand.call("GET /v1/logs", stand.gateway.workspaceKey);
      const [row] = Array.isArray(data) ? data : [];
      await open(`/logs/${row.id}`);
      await settle(page);
      await page.reload();
      await page.getByRole("heading", { level: 1 }).waitFor();
      await settle(page);
      assert.equal(pathOf(), `/gateway/console/logs/${row.id}`);
      assertClean(one);
    });

    test("links lead to pages below the path, and examples name it", { skip: noConsole }, async () => {
      const { page, open } = one;
      await open("/");
      await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Configs" }).click();
      await page.getByText(`curl ${proxy.url}/gateway/v1/configs`).waitFor();
      assert.equal(pathOf(), "/gateway/console/configs");
      await page.goBack();
      await page.waitForURL(`${proxy.url}/gateway/console**`);
      await settle(page);
      assertClean(one);
    });

    test("who signed out is asked to sign in where the page is, and returns to it", { skip: noConsole }, async () => {
      const { page } = one;
      await page.goto(`${proxy.url}/gateway/console/api-keys`);
      await page.getByRole("button", { name: "Account" }).click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
      await page.getByLabel("Gateway key").fill(stand.gateway.workspaceKey);
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      await page.getByRole("button", { name: "Account" }).waitFor();
      assert.ok(pathOf().startsWith("/gateway/console"));
      assertClean(one);
    });
  });
}

test("a gateway with a path also opens at its own address", { skip: noConsole }, async () => {
  const stand = await openStand({ BASE_PATH: "/gateway" });
  try {
    const one = await stand.signIn(stand.gateway.workspaceKey);
    assert.equal(new URL(one.page.url()).pathname, "/console");
    await one.open("/configs");
    await settle(one.page);
    assertClean(one);
  } finally {
    await stand.close();
  }
});
