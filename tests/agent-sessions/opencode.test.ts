import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { findInstalled } from "../support/agents.ts";
import { type Agent, call, command, inThreeRounds, notes, picture, printed, prompt, readNotes } from "./agent.ts";
import { holdNamedSessions, holdSessions } from "./sessions.ts";

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
