import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { findInstalled } from "../support/agents.ts";
import { type Agent, call, command, inThreeRounds, notes, picture, printed, prompt, readNotes } from "./agent.ts";
import { createPoolsKey } from "./keys.ts";
import { holdNamedSessions, holdSessions, pools, printSettings, runSession, skipped } from "./sessions.ts";
import { openStage } from "./stage.ts";

const folder = `opencode-${process.platform}-${process.arch}`;
const program = findInstalled("tests/agent-sessions/node_modules", folder, "bin/opencode");

/** What opencode cannot know of a model that a config of the gateway chooses. */
const known = {
  name: "Two targets",
  attachment: true,
  reasoning: true,
  tool_call: true,
  modalities: { input: ["text", "image"], output: ["text"] },
  limit: { context: 200_000, output: 32_000 },
};

const opencode: Agent = {
  name: "opencode",
  command: program === undefined ? undefined : [program],
  // it does not send back the `reasoning_details` that OpenRouter demands of Claude and Gemini
  models: { openrouter: "openai/gpt-5.4" },
  script: {
    isOfSession: (body) => body.includes('"bash"') && body.includes(picture),
    turns: inThreeRounds(
      [call("read", { filePath: notes.name }), call("read", { filePath: picture })],
      call("bash", { command, description: "Prints a word" }),
      call("edit", { filePath: notes.name, oldString: "six", newString: "seven" }),
    ),
    results: [readNotes, printed, /Edit applied successfully/],
    aside: "Harbour",
  },
  start: ({ url, key, home, model = "agent" }) => {
    const options = { baseURL: `${url}/v1`, apiKey: key };
    const gateway = { npm: "@ai-sdk/openai-compatible", name: "gateway", options, models: { [model]: known } };
    mkdirSync(join(home, ".config/opencode"), { recursive: true });
    writeFileSync(
      join(home, ".config/opencode/opencode.json"),
      JSON.stringify({ autoupdate: false, share: "disabled", provider: { gateway } }),
    );
    const off = ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"];
    return {
      args: ["run", "-m", `gateway/${model}`, prompt],
      env: Object.fromEntries(off.map((name) => [`OPENCODE_DISABLE_${name}`, "1"])),
    };
  },
};

holdSessions(opencode);
holdNamedSessions(opencode);

test(
  "opencode lists a pool and a model with the windows and prices of settings that the gateway prints",
  skipped(opencode),
  async () => {
    const stage = await openStage({ script: opencode.script, createKey: (gateway) => createPoolsKey(gateway, pools) });
    try {
      const [pool, model] = [await printSettings(stage, "opencode", "harbour/quick"), "@openai/gpt-5.6"];
      const settings = JSON.parse(await printSettings(stage, "opencode", model));
      Object.assign(settings.provider.gateway.models, JSON.parse(pool).provider.gateway.models);
      const listing: Agent = {
        ...opencode,
        start(place) {
          const { env } = opencode.start(place);
          writeFileSync(join(place.home, ".config/opencode/opencode.json"), JSON.stringify(settings));
          return { args: ["models", "gateway", "--verbose"], env: { ...env, GATEWAY_API_KEY: place.key } };
        },
      };
      const { code, output } = await runSession(listing, stage);
      assert.equal(code, 0, output);
      const blocks = output.split(/^gateway\//m).slice(1);
      const shown = Object.fromEntries(
        blocks.map((block) => [block.split("\n")[0], JSON.parse(block.slice(block.indexOf("{")))]),
      );
      const { [model]: one, "harbour/quick": both } = settings.provider.gateway.models;
      assert.deepEqual([shown[model].limit, shown["harbour/quick"].limit], [one.limit, both.limit]);
      assert.ok(one.limit.context > 0 && both.limit.context > 0 && one.cost.input > 0, JSON.stringify(settings));
      assert.deepEqual([shown[model].cost.input, shown[model].cost.output], [one.cost.input, one.cost.output]);
    } finally {
      await stage.close();
    }
  },
);
