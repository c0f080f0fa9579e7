import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelTurn } from "../emulators/emulator.ts";
import { findInstalled } from "../support/agents.ts";
import { type Agent, ending, notes, picture, readNotes, say, think } from "./agent.ts";
import { holdSessions } from "./sessions.ts";

const program = findInstalled("tests/agent-sessions/.venv", "bin/aider");

const line = (hour: string): string => `The harbour opens at ${hour}. tide-4711`;

/** A change in the form that aider asks models for. */
const change = (from: string, to: string): string =>
  [notes.name, "```", "<<<<<<< SEARCH", line(from), "=======", line(to), ">>>>>>> REPLACE", "```", ""].join("\n");

/** A model of aider calls no tools: it asks for a file, and its changes are tested by a command whose output goes back to it. */
const turns: readonly ModelTurn[] = [
  { said: [think("I look first."), say(`Please add ${notes.name} to the chat.`)] },
  { said: [think("Now a change."), say(`I change it.\n\n${change("six", "five")}`)] },
  { said: [think("Not yet."), say(`I change it again.\n\n${change("five", "four")}`)] },
  { said: [think("Now."), say(`${ending}\n\n${change("four", "seven")}`)] },
];

/** What aider cannot know of a model that a config of the gateway chooses. */
const model = {
  max_input_tokens: 200_000,
  max_output_tokens: 32_000,
  input_cost_per_token: 0,
  output_cost_per_token: 0,
  litellm_provider: "openai",
  mode: "chat",
  supports_vision: true,
};

const aider: Agent = {
  name: "aider",
  command: program === undefined ? undefined : [program],
  script: {
    isOfSession: (body) => body.includes(picture),
    turns,
    results: [readNotes, /lantern-five/, /lantern-four/],
    aside: "Harbour",
  },
  start: ({ url, key, home, work }) => {
    // aider offers models the files that git knows
    execFileSync("git", ["init", "-q"], { cwd: work });
    execFileSync("git", ["add", notes.name], { cwd: work });
    const metadata = join(home, "models.json");
    writeFileSync(metadata, JSON.stringify({ "openai/agent": model }));
    const check = join(home, "check.sh");
    const file = join(work, notes.name);
    writeFileSync(check, `hour=$(cut -d' ' -f5 ${file} | tr -d .); echo lantern-$hour; test $hour = seven\n`);
    const names = "yes-always no-auto-commits no-gitignore no-check-update analytics-disable no-show-release-notes";
    const plain = "no-show-model-warnings no-pretty no-fancy-input no-detect-urls auto-test";
    const flags = `${names} ${plain}`.split(" ").map((name) => `--${name}`);
    const edits = ["--edit-format", "diff", "--map-tokens", "0", "--test-cmd", `sh ${check}`];
    const chosen = ["--model", "openai/agent", "--model-metadata-file", metadata];
    return {
      args: [...chosen, ...flags, ...edits, "--message", "Make the harbour open at seven, as in the picture.", picture],
      env: { OPENAI_API_BASE: `${url}/v1`, OPENAI_API_KEY: key },
    };
  },
};

holdSessions(aider);
