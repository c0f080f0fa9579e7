import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { serveFetch } from "../mcp/conformance.ts";
import { createFixture } from "../mcp/fixture.ts";
import { findAgent, runAgent } from "../support/agents.ts";
import { createFolder, type GatewayProcess, startGatewayProcess } from "../support/process.ts";
import { sample } from "../support/sample.ts";
import { startScriptedModel } from "../support/scripted-model.ts";

const claude = findAgent("@anthropic-ai", "claude-code", "claude");

let gateway: GatewayProcess | undefined;
before(async () => {
  if (claude !== undefined) gateway = await startGatewayProcess();
});
after(async () => {
  await gateway?.stop("SIGKILL");
});

const upstreams = [
  { provider: "openai", model: "gpt-5.1", base: "/v1" },
  { provider: "google", model: "gemini-3-flash", base: "" },
  { provider: "anthropic", model: "claude-sonnet-4-6", base: "/v1" },
];

for (const { provider, model, base } of sample(upstreams, 3)) {
  test(`Claude Code edits a file with a model of ${provider}`, { skip: claude === undefined }, async () => {
    if (claude === undefined || !gateway) return;
    const folder = createFolder();
    const home = createFolder();
    const file = join(folder, "harbour.txt");
    writeFileSync(join(folder, "other.txt"), "untouched\n");
    const tool = { name: "Write", input: { file_path: file, content: "opens at six\n" } };
    const upstream = await startScriptedModel({ tool, text: "The file is written." });
    try {
      const headers = [
        `x-gateway-api-key: ${gateway.workspaceKey}`,
        `x-gateway-provider: ${provider}`,
        `x-gateway-custom-host: ${upstream.url}${base}`,
      ];
      const args = ["-p", "Write harbour.txt", "--permission-mode", "acceptEdits", "--output-format", "json"];
      const { code, output } = await runAgent(claude, [...args, "--max-turns", "4"], {
        cwd: folder,
        env: {
          HOME: home,
          CLAUDE_CONFIG_DIR: join(home, ".claude"),
          ANTHROPIC_BASE_URL: gateway.url,
          ANTHROPIC_API_KEY: "fake-provider-key",
          ANTHROPIC_CUSTOM_HEADERS: headers.join("\n"),
          ANTHROPIC_MODEL: model,
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
          DISABLE_AUTOUPDATER: "1",
        },
      });
      assert.equal(code, 0, output);
      assert.match(output, /"result":"The file is written\."/);
      assert.ok(existsSync(file), output);
      assert.equal(readFileSync(file, "utf8"), "opens at six\n");
      assert.equal(readFileSync(join(folder, "other.txt"), "utf8"), "untouched\n");
      assert.ok(upstream.requests.length >= 2, "the tool's answer was not sent");
      for (const { rawHeaders, text } of upstream.requests) {
        assert.ok(!`${rawHeaders.join("\n")}\n${text}`.includes(gateway.workspaceKey), "the gateway key went upstream");
      }
    } finally {
      await upstream.close();
    }
  });
}

/** Saves an MCP server of the workspace. */
async function addMcpServer({ url, workspaceKey }: GatewayProcess, upstream: string): Promise<void> {
  for (const [path, body] of [
    ["mcp-integrations", { name: "U", slug: "agent-up", url: upstream, auth_type: "none", transport: "http" }],
    ["mcp-servers", { name: "S", slug: "agent-tools", mcp_integration_id: "agent-up" }],
  ] as const) {
    const headers = { "x-gateway-api-key": workspaceKey, "content-type": "application/json" };
    const answer = await fetch(`${url}/v1/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    assert.equal(answer.status, 200, await answer.text());
  }
}

test("Claude Code calls a tool of an MCP server through the gateway", { skip: claude === undefined }, async () => {
  if (claude === undefined || !gateway) return;
  const folder = createFolder();
  const home = createFolder();
  const fixture = await serveFetch(createFixture("both"));
  await addMcpServer(gateway, `http://127.0.0.1:${fixture.port}/mcp`);
  const name = "mcp__tools__test_simple_text";
  const upstream = await startScriptedModel({ tool: { name, input: {} }, text: "The tool has answered." });
  const servers = {
    tools: {
      type: "http",
      url: `${gateway.url}/m/agent-tools/mcp`,
      headers: { "x-gateway-api-key": gateway.workspaceKey },
    },
  };
  const config = join(folder, "servers.json");
  writeFileSync(config, JSON.stringify({ mcpServers: servers }));
  try {
    const headers = [
      `x-gateway-api-key: ${gateway.workspaceKey}`,
      "x-gateway-provider: anthropic",
      `x-gateway-custom-host: ${upstream.url}/v1`,
    ];
    const args = ["-p", "Call the tool", "--mcp-config", config, "--strict-mcp-config", "--allowedTools", name];
    const { code, output } = await runAgent(claude, [...args, "--output-format", "json", "--max-turns", "4"], {
      cwd: folder,
      env: {
        HOME: home,
        CLAUDE_CONFIG_DIR: join(home, ".claude"),
        ANTHROPIC_BASE_URL: gateway.url,
        ANTHROPIC_API_KEY: "fake-provider-key",
        ANTHROPIC_CUSTOM_HEADERS: headers.join("\n"),
        ANTHROPIC_MODEL: "claude-sonnet-4-6",
        ENABLE_TOOL_SEARCH: "false",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_AUTOUPDATER: "1",
      },
    });
    assert.equal(code, 0, output);
    assert.match(output, /"result":"The tool has answered\."/);
    const answered = upstream.requests.some(({ text }) => text.includes("This is a simple text response for testing."));
    assert.ok(answered, "the model did not get the result of the tool");
  } finally {
    await upstream.close();
    await fixture.close();
  }
});
