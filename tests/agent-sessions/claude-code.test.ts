import { join } from "node:path";
import { findAgent } from "../support/agents.ts";
import { type Agent, call, command, inThreeRounds, notes, picture, printed, prompt, readNotes } from "./agent.ts";
import { holdSessions } from "./sessions.ts";

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
  start: ({ url, key, home }) => ({
    args: ["-p", prompt, "--output-format", "json", "--max-turns", "8", "--allowedTools", "Read", "Bash", "Edit"],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: key,
      ANTHROPIC_MODEL: "claude-opus-4-8",
      CLAUDE_CONFIG_DIR: join(home, ".claude"),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
    },
  }),
};

holdSessions(claudeCode);
