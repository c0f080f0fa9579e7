import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { findInstalled } from "../support/agents.ts";
import { type Agent, call, command, inThreeRounds, notes, picture, printed, prompt, readNotes } from "./agent.ts";
import { holdSessions } from "./sessions.ts";

const program = findInstalled("tests/agent-sessions/node_modules", "@google/gemini-cli/bundle/gemini.js");

/** The pinned Node, which `node` of the PATH may not be. */
const node = findInstalled("node_modules", `node-${process.platform}-${process.arch}`, "bin/node");

const settings = {
  security: { auth: { selectedType: "gemini-api-key" } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
};

const geminiCli: Agent = {
  name: "Gemini CLI",
  command: program === undefined ? undefined : [node ?? "node", program],
  script: {
    isOfSession: (body) => body.includes("run_shell_command") && body.includes(picture),
    turns: inThreeRounds(
      [call("read_file", { file_path: notes.name }), call("read_file", { file_path: picture })],
      call("run_shell_command", { command, description: "Prints a word" }),
      call("replace", { file_path: notes.name, instruction: "Seven", old_string: "six", new_string: "seven" }),
    ),
    results: [readNotes, printed, /Successfully modified/],
    // it asks a small model first how hard the task is
    aside: JSON.stringify({ complexity_reasoning: "Few steps.", complexity_score: 80 }),
  },
  start: ({ url, key, home }) => {
    mkdirSync(join(home, ".gemini"));
    writeFileSync(join(home, ".gemini/settings.json"), JSON.stringify(settings));
    return {
      args: ["-p", prompt, "--approval-mode", "yolo", "--skip-trust", "--output-format", "text"],
      env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: key, GEMINI_CLI_NO_RELAUNCH: "true", NO_BROWSER: "true" },
    };
  },
};

holdSessions(geminiCli);
