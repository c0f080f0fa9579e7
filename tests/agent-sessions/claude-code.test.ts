import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { findAgent } from "../support/agents.ts";
import {
  type Agent,
  call,
  command,
  ending,
  inThreeRounds,
  notes,
  picture,
  printed,
  prompt,
  readNotes,
  say,
} from "./agent.ts";
import { createPoolsKey } from "./keys.ts";
import { holdSearches, twoSearches } from "./searches.ts";
import { holdNamedSessions, holdSessions, pools, printSettings, runSession, skipped } from "./sessions.ts";
import { openStage, type Script } from "./stage.ts";

const program = findAgent("@anthropic-ai", "claude-code", "claude");

const claudeCode: Agent = {
  name: "Claude Code",
  command: program === undefined ? undefined : [program],
  script: {
    isOfSession: (body) => body.includes('"Bash"') && body.includes(picture),
    turns: inThreeRounds(
      [call("Read", { file_path: notes.name }), call("Read", { file_path: picture })],
      call("Bash", { command, description: "Prints a word" }),
      call("Edit", { file_path: notes.name, old_string: "six", new_string: "seven" }),
    ),
    results: [readNotes, printed, /has been updated/],
    aside: "Harbour",
  },
  start: ({ url, key, home, model = "claude-opus-4-8" }) => ({
    args: [
      "-p",
      prompt,
      "--output-format",
      "json",
      "--max-turns",
      "8",
      "--allowedTools",
      "Read",
      "Bash",
      "Edit",
      "WebSearch",
    ],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: key,
      ANTHROPIC_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      CLAUDE_CONFIG_DIR: join(home, ".claude"),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
    },
  }),
};

holdSessions(claudeCode);
holdNamedSessions(claudeCode);

const finding: Agent = {
  ...claudeCode,
  start(place) {
    const { args, env } = claudeCode.start(place);
    const { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: _, ...rest } = env;
    return { args, env: { ...rest, CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: "1" } };
  },
};

test("Claude Code offers the pools that it finds in the list of models", skipped(claudeCode), async () => {
  const stage = await openStage({ script: claudeCode.script, createKey: (gateway) => createPoolsKey(gateway, pools) });
  try {
    const { code, output, home } = await runSession(finding, stage, "careful-claude");
    assert.equal(code, 0, output);
    const offered = readFileSync(join(home, ".claude/cache/gateway-models.json"), "utf8");
    // it leaves out names in which there is no `claude` and no `anthropic`
    const shown = [...pools.keys()].filter((name) => offered.includes(`"id":"${name}"`));
    assert.deepEqual(shown, ["careful-claude"], offered);
    // and says this of it
    assert.match(offered, /"description":"1,000,000 tokens"/);
  } finally {
    await stage.close();
  }
});

test(
  "Claude Code uses the window and the output limit of a pool from settings that the gateway prints",
  skipped(claudeCode),
  async () => {
    const stage = await openStage({
      script: claudeCode.script,
      createKey: (gateway) => createPoolsKey(gateway, pools),
    });
    try {
      const printed = await printSettings(stage, "claude-code", "harbour/quick");
      const settings = [...printed.matchAll(/^export (\w+)=['"]?([^'"\n]*)['"]?$/gm)].map(([, name, value]) => [
        name,
        value,
      ]);
      const configured: Agent = {
        ...claudeCode,
        start(place) {
          const { args, env } = claudeCode.start(place);
          return { args, env: { ...env, ...Object.fromEntries(settings), ANTHROPIC_API_KEY: place.key } };
        },
      };
      const { code, output } = await runSession(configured, stage);
      assert.equal(code, 0, output);
      const { CLAUDE_CODE_MAX_CONTEXT_TOKENS: window, CLAUDE_CODE_MAX_OUTPUT_TOKENS: most } =
        Object.fromEntries(settings);
      assert.ok(Number(window) > 0, printed);
      assert.ok(output.includes(`"contextWindow":${window},`), output);
      const asked = stage.sent
        .filter(({ body }) => claudeCode.script.isOfSession(body))
        .map(({ body }) => JSON.parse(body).max_tokens);
      assert.deepEqual(new Set(asked.map(String)), new Set([most]), printed);
    } finally {
      await stage.close();
    }
  },
);

/** It searches in a separate request, whose response its tool gives to the model. */
const searching: Script = {
  isOfSession: (body) => body.includes('"ToolSearch"') && body.includes(picture),
  turns: [
    { said: [call("ToolSearch", { query: "select:WebSearch" })] },
    { said: [call("WebSearch", { query: "tides" })] },
    { said: [say(ending)] },
  ],
  results: [/select:WebSearch/, /Web search results for query|API Error|446/],
  aside: "Harbour",
  errands: [{ ...twoSearches, isOfSession: (body) => body.includes('"web_search"') && !body.includes('"ToolSearch"') }],
};
holdSearches(claudeCode, searching);
