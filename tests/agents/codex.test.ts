import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { findCodex, runAgent } from "../support/agents.ts";
import { createTemporaryFolder } from "../support/gateway.ts";
import { type GatewayProcess, startGatewayProcess } from "../support/process.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

type Block = Record<string, unknown>;

const patch = `*** Begin Patch
*** Update File: notes.txt
@@
-The harbour opens at six.
+The harbour opens at “seven”.
*** End Patch
`;

/** The model's turns: it reads a file, changes it by either kind of tool, and ends. */
const turns: Readonly<Record<string, readonly (readonly Block[])[]>> = {
  "a function": [
    [
      { type: "thinking", thinking: "I look first.", signature: "c2lnbmF0dXJlQQ==" },
      { type: "text", text: "Let me look." },
      { type: "tool_use", id: "toolu_1", name: "exec_command", input: { cmd: "cat notes.txt" } },
    ],
    [{ type: "tool_use", id: "toolu_2", name: "exec_command", input: { cmd: "sed -i 's/six/“seven”/' notes.txt" } }],
    [{ type: "text", text: "It opens at seven now." }],
  ],
  "a custom tool": [
    [
      { type: "thinking", thinking: "I look first.", signature: "c2lnbmF0dXJlQQ==" },
      { type: "tool_use", id: "toolu_1", name: "exec_command", input: { cmd: "cat notes.txt" } },
    ],
    [{ type: "tool_use", id: "toolu_2", name: "apply_patch", input: { input: patch } }],
    [{ type: "text", text: "It opens at seven now." }],
  ],
};

const event = (type: string, members: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;

/** A block as Anthropic streams it: in chunks of seven characters. */
function toEvents(block: Block, index: number): string {
  const { type, thinking, signature, text, input } = block;
  const [kind, member, whole] =
    type === "thinking"
      ? (["thinking_delta", "thinking", String(thinking)] as const)
      : type === "text"
        ? (["text_delta", "text", String(text)] as const)
        : (["input_json_delta", "partial_json", JSON.stringify(input)] as const);
  const pieces = whole.match(/.{1,7}/gsu) ?? [];
  const deltas: Block[] = pieces.map((piece) => ({ type: kind, [member]: piece }));
  if (signature !== undefined) deltas.push({ type: "signature_delta", signature });
  const empty = type === "tool_use" ? { ...block, input: {} } : { type, [member]: "" };
  return [
    event("content_block_start", { index, content_block: empty }),
    ...deltas.map((delta) => event("content_block_delta", { index, delta })),
    event("content_block_stop", { index }),
  ].join("");
}

function toStream(blocks: readonly Block[]): string {
  const usage = { input_tokens: 10, output_tokens: 5 };
  const message = { id: "msg_1", type: "message", role: "assistant", model: "claude-sonnet-4-6", content: [], usage };
  const reason = blocks.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
  return [
    event("message_start", { message }),
    ...blocks.map(toEvents),
    event("message_delta", { delta: { stop_reason: reason }, usage }),
    event("message_stop", {}),
  ].join("");
}

let gateway: GatewayProcess;
let upstream: RecordingUpstream;
let script: readonly (readonly Block[])[] = [];
const codex = findCodex();
before(async () => {
  if (codex === undefined) return;
  gateway = await startGatewayProcess();
  upstream = await startRecordingUpstream(({ text }, response) => {
    const { messages = [] } = JSON.parse(text) as { messages?: { role: string }[] };
    const turn = messages.filter(({ role }) => role === "assistant").length;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(toStream(script[turn] ?? [{ type: "text", text: "Nothing is left to do." }]));
  });
});
after(async () => {
  if (codex === undefined) return;
  await gateway.stop("SIGKILL");
  await upstream.close();
});

/** Settings that connect Codex to the gateway, and the gateway to an upstream that speaks Anthropic's API. */
function codexSettings(model: string): string {
  const target = { provider: "anthropic", api_key: "fake", custom_host: `${upstream.url}/v1` };
  const config = JSON.stringify({ ...target, override_params: { model: "claude-sonnet-4-6" } });
  return `
model = "${model}"
model_provider = "gateway"
[model_providers.gateway]
name = "gateway"
base_url = "${gateway.url}/v1"
wire_api = "responses"
env_key = "GATEWAY_KEY"
request_max_retries = 0
stream_max_retries = 0
http_headers = { "x-gateway-config" = '${config}' }
[analytics]
enabled = false
`;
}

for (const [name, model] of [
  ["a function", "claude-sonnet-4-6"],
  ["a custom tool", "gpt-5.5"],
] as const) {
  test(`Codex changes a file through ${name} of a model that speaks another API`, {
    skip: codex === undefined,
  }, async () => {
    if (codex === undefined) return;
    script = turns[name] ?? [];
    const first = upstream.requests.length;
    const folder = createTemporaryFolder();
    const home = join(folder.path, "home");
    const work = join(folder.path, "work");
    for (const path of [home, work]) mkdirSync(path);
    writeFileSync(join(home, "config.toml"), codexSettings(model));
    const file = join(work, "notes.txt");
    writeFileSync(file, "The harbour opens at six.\n");
    const flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];
    const env = { HOME: home, CODEX_HOME: home, GATEWAY_KEY: gateway.workspaceKey };
    const { code, output } = await runAgent(codex, ["exec", ...flags, "Make it open at seven"], { cwd: work, env });
    assert.equal(code, 0, output);
    assert.equal(readFileSync(file, "utf8"), "The harbour opens at “seven”.\n", output);
    assert.match(output, /It opens at seven now\./);
    const sent = upstream.requests.slice(first).map(({ text }) => text);
    assert.equal(sent.length, 3, output);
    assert.ok(sent[1]?.includes("The harbour opens at six."), "what a call gave goes back to the model");
    assert.ok(sent[1]?.includes("c2lnbmF0dXJlQQ=="), "what was thought goes back, signed");
    assert.ok(sent[2]?.includes("toolu_2"));
    folder.remove();
  });
}
