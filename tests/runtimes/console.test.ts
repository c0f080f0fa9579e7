import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { waitFor, withGateway } from "../support/process.ts";
import { repository } from "../support/source-files.ts";

test("the gateway prints where its console is, and serves what was built", async () => {
  await withGateway({}, async (gateway) => {
    const line = new RegExp(`^Console: ${gateway.url}/console$`, "m");
    await waitFor("the console's address", 5_000, () => line.test(gateway.output()));
    const page = await fetch(`${gateway.url}/console`);
    const text = await page.text();
    const isBuilt = existsSync(join(repository, "dist/console/index.html"));
    assert.equal(page.status, isBuilt ? 200 : 503);
    assert.match(text, /<!doctype html>/i);
    const start = await fetch(gateway.url, { headers: { accept: "text/html" }, redirect: "manual" });
    await start.text();
    assert.deepEqual([start.status, start.headers.get("location")], [303, "/console"]);
  });
});

test("with CONSOLE=false the gateway has no console", async () => {
  await withGateway({ env: { CONSOLE: "false" } }, async (gateway) => {
    assert.ok(!gateway.output().includes("Console"));
    for (const path of ["/console", "/console/index.html", "/console/session", "/console/sign-in/options"]) {
      const response = await fetch(gateway.url + path);
      await response.text();
      assert.equal(response.status, 404, path);
    }
    const start = await fetch(gateway.url, { headers: { accept: "text/html" } });
    assert.match(await start.text(), /^AI gateway/);
  });
});
