import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Said } from "../emulators/emulator.ts";
import { findCodex } from "../support/agents.ts";
import { type Agent, call, command, inThreeRounds, notes, picture, printed, prompt, readNotes } from "./agent.ts";
import { createPoolsKey } from "./keys.ts";
import { holdSearches, twoSearches } from "./searches.ts";
import { holdNamedSessions, holdSessions, pools, printSettings, runSession, skipped } from "./sessions.ts";
import { openStage } from "./stage.ts";

const program = findCodex();

/** A call of the one tool of its newest models, which runs JavaScript that calls the others. */
const exec = (code: string): Said => call("exec", { input: code });
const shell = (cmd: string): string => `text((await tools.exec_command(${JSON.stringify({ cmd })})).output);`;

/** The tool that other models call. */
const run = (cmd: string): Said => call("exec_command", { cmd });

const codex: Agent = {
  name: "Codex",
  command: program === undefined ? undefined : [program],
  script: {
    isOfSession: (body) => body.includes("exec") && body.includes(picture),
    turns: inThreeRounds(
      [exec(shell(`cat ${notes.name}`)), exec(`image(await tools.view_image(${JSON.stringify({ path: picture })}));`)],
      exec(shell(command)),
      exec(shell(`sed -i.old s/six/seven/ ${notes.name}; printf sea-%d 43`)),
    ),
    results: [readNotes, printed, /sea-43/],
    aside: "Harbour",
  },
  namedScript: {
    isOfSession: (body) => body.includes("exec_command") && body.includes(picture),
    turns: inThreeRounds(
      [run(`cat ${notes.name}`), call("view_image", { path: picture })],
      run(command),
      run(`sed -i.old s/six/seven/ ${notes.name}; printf sea-%d 43`),
    ),
    results: [readNotes, printed, /sea-43/],
    aside: "Harbour",
  },
  start: ({ url, key, home, model }) => {
    writeFileSync(join(home, "config.toml"), settings(url));
    const flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];
    const named = model === undefined ? [] : ["--model", model];
    return { args: ["exec", ...flags, ...named, prompt], env: { CODEX_HOME: home, GATEWAY_KEY: key } };
  },
};

const settings = (url: string): string => `
model_provider = "gateway"
web_search = "live"
[model_providers.gateway]
name = "gateway"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "GATEWAY_KEY"
[analytics]
enabled = false
`;

holdSessions(codex);
holdNamedSessions(codex);

test("Codex uses the window of a pool from settings that the gateway prints", skipped(codex), async () => {
  const script = codex.namedScript ?? codex.script;
  const stage = await openStage({ script, createKey: (gateway) => createPoolsKey(gateway, pools) });
  try {
    const printed = await printSettings(stage, "codex", "spare");
    const window = Number(/^model_context_window = (\d+)$/m.exec(printed)?.[1]);
    assert.ok(window > 0, printed);
    const configured: Agent = {
      ...codex,
      start(place) {
        const { args, env } = codex.start(place);
        writeFileSync(join(place.home, "config.toml"), `${printed}\n[analytics]\nenabled = false\n`);
        return { args, env: { ...env, GATEWAY_API_KEY: place.key } };
      },
    };
    const { code, output, home } = await runSession(configured, stage);
    assert.equal(code, 0, output);
    const folder = join(home, "sessions");
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
    const rollout = names.find((name) => name.endsWith(".jsonl")) ?? "";
    const shown = /"model_context_window":(\d+)/.exec(readFileSync(join(folder, rollout), "utf8"))?.[1];
    // it keeps a twentieth for itself
    assert.equal(Number(shown), Math.floor(window * 0.95));
  } finally {
    await stage.close();
  }
});
holdSearches(codex, { ...twoSearches, isOfSession: (body) => body.includes("exec_command") && body.includes(picture) });
