import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeWorkspaceKey, runtimeCommand, waitFor, withGateway } from "../support/process.ts";

const body = JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hello" }], stream: true });

/** Chats below the path the example mounts the gateway at. */
function chat(url: string, key: string): Promise<Response> {
  return fetch(`${url}/ai/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-gateway-api-key": key, "x-gateway-provider": "echo" },
    body,
  });
}

test("examples/embed.ts answers its own pages and the gateway's, and ends in order", async () => {
  const options = { command: runtimeCommand("examples/embed.ts"), env: { WORKSPACE_KEY: fakeWorkspaceKey } };
  await withGateway(options, async (server) => {
    const { url } = server;
    assert.equal(await (await fetch(`${url}/about`)).text(), "This page is ours\n");
    assert.equal((await fetch(`${url}/ai/health`)).status, 200);
    const answer = await chat(url, fakeWorkspaceKey);
    assert.equal(answer.status, 200);
    assert.match(await answer.text(), /"content":"Hello"[\s\S]+data: \[DONE\]\n\n$/);
    assert.equal((await chat(url, "another-fake-key-for-tests")).status, 401);
    assert.ok(!server.output().includes(fakeWorkspaceKey));
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
  });
});

test("examples/embed.ts prints the key it made when it was given none", async () => {
  await withGateway({ command: runtimeCommand("examples/embed.ts") }, async (server) => {
    const key = await waitFor("the key", 5_000, () => /Workspace key: (gk_\S+)\n/.exec(server.output())?.[1]);
    assert.equal((await chat(server.url, key)).status, 200);
  });
});
