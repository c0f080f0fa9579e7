import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Said } from "../emulators/emulator.ts";
import { findCodex } from "../support/agents.ts";
import { type Agent, call, command, inThreeRounds, notes, picture, printed, prompt, readNotes } from "./agent.ts";
import { holdSessions } from "./sessions.ts";

const program = findCodex();

/** A call of the one tool of its newest models, which runs JavaScript that calls the others. */
const exec = (code: string): Said => call("exec", { input: code });
const shell = (cmd: string): string => `text((await tools.exec_command(${JSON.stringify({ cmd })})).output);`;

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
  start: ({ url, key, home }) => {
    writeFileSync(join(home, "config.toml"), settings(url));
    const flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];
    return { args: ["exec", ...flags, prompt], env: { CODEX_HOME: home, GATEWAY_KEY: key } };
  },
};

const settings = (url: string): string => `
model_provider = "gateway"
[model_providers.gateway]
name = "gateway"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "GATEWAY_KEY"
[analytics]
enabled = false
`;

holdSessions(codex);
