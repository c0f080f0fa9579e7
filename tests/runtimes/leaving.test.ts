import assert from "node:assert/strict";
import { request as openRequest } from "node:http";
import { test } from "node:test";
import { fakeWorkspaceKey, waitFor, withGateway } from "../support/process.ts";
import { startServer } from "../support/upstream.ts";

const body = JSON.stringify({ model: "slow", stream: true, messages: [{ role: "user", content: "Hello" }] });

/** Asks, reads the first bytes and leaves. Resolves with how the response ended otherwise. */
function ask(url: string, upstream: string, { leaves }: { leaves: boolean }): Promise<string> {
  const headers = {
    "content-type": "application/json",
    "x-gateway-api-key": fakeWorkspaceKey,
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": upstream,
    authorization: "Bearer upstream-credential",
  };
  return new Promise((resolve) => {
    const request = openRequest(url, { method: "POST", headers, agent: false });
    request.on("error", (error) => resolve(error.message));
    request.on("response", (response) => {
      let text = "";
      response.on("error", () => {});
      response.on("close", () => resolve(text));
      response.on("data", (data) => {
        text += data;
        if (leaves) request.destroy();
      });
    });
    request.end(body);
  });
}

test("callers that leave and upstreams that break off leave no stack in the process log", async () => {
  let breaks = false;
  let gone = 0;
  const upstream = await startServer((request, response) => {
    request.resume();
    response.on("close", () => gone++);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(
      'data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n',
    );
    if (breaks) setTimeout(() => response.destroy(), 50);
  });
  try {
    await withGateway({}, async (gateway) => {
      const host = `${upstream.url}/v1`;
      const before = gateway.output().split("\n").length;
      for (const path of ["/v1/chat/completions", "/v1/any/other/path"]) {
        for (let round = 0; round < 5; round++) await ask(`${gateway.url}${path}`, host, { leaves: true });
      }
      await waitFor("the upstream's connections to close", 10_000, () => gone === 10);
      breaks = true;
      for (const path of ["/v1/chat/completions", "/v1/any/other/path"]) {
        const text = await ask(`${gateway.url}${path}`, host, { leaves: false });
        assert.doesNotMatch(text, /Error: /, "the adapter's own words");
      }
      assert.equal((await fetch(`${gateway.url}/health`)).status, 200);
      await gateway.stop();
      const added = gateway
        .output()
        .split("\n")
        .slice(before - 1)
        .join("\n");
      assert.doesNotMatch(added, /\.m?[jt]s:\d+|Error|user aborted/);
    });
  } finally {
    await upstream.close();
  }
});
