import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { TestGateway } from "../support/gateway.ts";
import { createMcpGateway, mcpServer, postLegacy, rpc, serversOf } from "./support.ts";

// Which tools `find_tools` finds, and in which order.

const tools = [
  ["test_elicitation_one", "Elicits one"],
  ["test_elicitation_two", "Elicits the limit of it-like items"],
  ["echo", "Says it again"],
  ["getWeatherReport", "Forecast for a place"],
  ["weather_archive", "Old reports"],
  ["search_docs", "資料を検索する"],
] as const;
let gateway: TestGateway;

before(async () => {
  const known = tools.map(([name, description]) => {
    const definition = { name, description, inputSchema: { type: "object" } };
    return [name, { id: name, definition, approved: definition, isListed: true }] as const;
  });
  const none = new Map();
  const capabilities = { tool: new Map(known), prompt: none, resource: none, resource_template: none };
  const member = mcpServer("http://127.0.0.1/mcp", { slug: "one", capabilities });
  const members = [{ prefix: "m", server: member, include: null, exclude: new Set<string>() }];
  const aggregate = { prefixMode: "never", members } as const;
  const settings = { ...member.settings, tool_mode: "search" as const };
  gateway = await createMcpGateway(serversOf(mcpServer("", { slug: "all", aggregate, settings })));
});
after(() => gateway.close());

for (const [query, wanted] of [
  ["says it again", ["echo", "test_elicitation_two"]],
  ["again", ["echo"]],
  ["licit", []],
  ["elicit", ["test_elicitation_one", "test_elicitation_two"]],
  ["weather report", ["getWeatherReport", "weather_archive"]],
  ["REPORTS weather", ["weather_archive", "getWeatherReport"]],
  ["検索", ["search_docs"]],
  ["docs", ["search_docs"]],
] as const) {
  test(`find_tools finds words and their beginnings: ${query}`, async () => {
    const call = rpc("tools/call", { name: "find_tools", arguments: { query } });
    const response = await postLegacy(gateway, call, {}, "/m/all/mcp");
    const { result } = JSON.parse(await response.text());
    assert.deepEqual(
      result.structuredContent.tools.map(({ name }: { name: string }) => name),
      wanted,
    );
  });
}
