import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Said } from "../emulators/emulator.ts";
import { findCodex } from "../support/agents.ts";
import { type Agent, call, command, inThreeRounds, notes, picture, printed, prompt, readNotes } from "./agent.ts";
import { holdSearches, twoSearches } from "./searches.ts";
import { holdNamedSessions, holdSessions } from "./sessions.ts";

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
holdSearches(codex, { ...twoSearches, isOfSession: (body) => body.includes("exec_command") && body.includes(picture) });
