import assert from "node:assert/strict";
import { test } from "node:test";
import { createUsedFolder, withFile } from "../support/commands.ts";
import { createFolder, runCommand } from "../support/process.ts";
import { startServer } from "../support/upstream.ts";

interface Finding {
  check: string;
  state: string;
  message: string;
}

test("doctor examines what a gateway needs, and says what to do about what is wrong", async () => {
  const upstream = await startServer((_request, response) => response.writeHead(401).end());
  try {
    const cwd = await createUsedFolder();
    const doctor = async (env: Record<string, string>, url = upstream.url) => {
      const { code, stdout } = await runCommand(["doctor", "--json", "--url", url], { cwd, env });
      return { code, found: JSON.parse(stdout) as Finding[] };
    };
    const well = await doctor({});
    assert.equal(well.code, 0, JSON.stringify(well.found));
    const states = Object.fromEntries(well.found.map(({ check, state }) => [check, state]));
    const call = `call to ${new URL(upstream.url).host}`;
    for (const check of ["settings", "master keys", "database", "schema", call])
      assert.equal(states[check], "ok", check);

    const away = await doctor(
      { REDIS_URL: "redis://127.0.0.1:1", HTTPS_PROXY: "http://proxy:3128", TLS_CERT: "none.pem", TLS_KEY: "none.pem" },
      "http://127.0.0.1:1/",
    );
    assert.equal(away.code, 1);
    const problems = away.found.filter(({ state }) => state !== "ok");
    const messages = problems.map(({ check, message }) => `${check}: ${message}`).join("\n");
    assert.match(messages, /^Redis: .*check REDIS_URL/m);
    assert.match(messages, /^call to .*check DNS/m);
    assert.match(messages, /^proxy: HTTPS_PROXY is not read/m);
    assert.match(messages, /^TLS: Cannot use TLS_CERT/m);

    await withFile(cwd, async (database) => {
      await database.write(["INSERT INTO migrations (id, applied_at) VALUES ('9001_later', 0)"]);
    });
    const newer = await doctor({});
    assert.ok(newer.found.some(({ check, message }) => check === "database" && message.includes("9001_later")));

    const wrong = await doctor({ PORT: "many" });
    assert.deepEqual(
      wrong.found.map(({ check, state }) => [check, state]),
      [["settings", "failed"]],
    );
    const { output } = await runCommand(["doctor", "--url", upstream.url], { cwd: createFolder() });
    assert.match(output, /ok +master keys: the first start makes them/);
  } finally {
    await upstream.close();
  }
});
