import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import {
  createFolder,
  type GatewayProcessOptions,
  runtime,
  runtimeCommand,
  startAndFail,
  startGatewayProcess,
  withGateway,
} from "../support/process.ts";

const twoWorkers = { WORKERS: "2" };

/** A gateway on a port; Deno gets it as an argument. */
function onPort(port: string, options: GatewayProcessOptions = {}): GatewayProcessOptions {
  const command = runtimeCommand("mod.ts", "serve").map((part, index, all) =>
    all[index - 1] === "--port" ? port : part,
  );
  return { ...options, command, env: { ...options.env, PORT: port } };
}

const portOf = ({ url }: { url: string }) => new URL(url).port;

test("a second process on a taken port ends, and says which port it is", async () => {
  await withGateway({}, async (first) => {
    const port = portOf(first);
    const { code, output } = await startAndFail(onPort(port));
    assert.equal(code, 1, output);
    // `deno serve` listens itself
    assert.match(
      output,
      runtime === "deno" ? /[Aa]ddress already in use/ : new RegExp(`Cannot listen on [^ ]*:${port}`),
    );
    if (runtime !== "deno") assert.match(output, /WORKERS/);
    assert.equal((await fetch(`${first.url}/health`)).status, 200);
  });
});

test("a port that another process holds for MCP ends the start too", async () => {
  await withGateway({}, async (first) => {
    const port = portOf(first);
    const { code, output } = await startAndFail({ env: { SERVER_MODE: "all", MCP_PORT: port } });
    assert.equal(code, 1, output);
    assert.match(output, new RegExp(`Cannot listen on [^ ]*:${port}: another process does`));
  });
});

test("processes that say so share a port", { skip: runtime === "deno" && "`deno serve` listens itself" }, async () => {
  const cwd = createFolder();
  await withGateway({ cwd, env: twoWorkers }, async (first) => {
    await withGateway(onPort(portOf(first), { cwd, env: twoWorkers }), async (second) => {
      assert.equal(second.url, first.url);
      assert.equal((await fetch(`${first.url}/health`)).status, 200);
    });
  });
});

test("a second process on a served database ends in one line, unless both share its limits", async () => {
  const cwd = createFolder();
  const refuses = async (env: Record<string, string>) => {
    const { code, output } = await startAndFail({ cwd, env });
    assert.equal(code, 1, output);
    assert.match(output, /^Cannot serve data\/gateway\.db \(DATABASE_URL\): another process serves it\..*WORKERS/m);
  };
  await withGateway({ cwd }, async () => {
    await refuses({});
    await refuses(twoWorkers);
  });
  // the first one was killed: its mark went with it
  await withGateway({ cwd, env: twoWorkers }, async () => {
    await refuses({});
    await withGateway({ cwd, env: twoWorkers }, async ({ url }) => {
      assert.equal((await fetch(`${url}/health`)).status, 200);
    });
  });
});

test("after a process was stopped, the next one serves its database", async () => {
  const cwd = createFolder();
  const first = await startGatewayProcess({ cwd });
  const { code } = await first.stop();
  assert.equal(code, 0, first.output());
  await withGateway({ cwd }, ({ url }) =>
    eventually("an answer", async () => (await fetch(`${url}/health`)).status === 200),
  );
});
