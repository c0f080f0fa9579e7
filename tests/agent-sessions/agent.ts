import type { ModelTurn, Said } from "../emulators/emulator.ts";
import type { Script } from "./stage.ts";

/** Where a session runs. */
export interface Place {
  /** Address of the gateway. */
  url: string;
  /** Key of the gateway. */
  key: string;
  /** An empty folder as the agent's home. */
  home: string;
  /** The folder with the files of the session. */
  work: string;
  /** The model that the agent names. Default: one that its config replaces. */
  model?: string | undefined;
}

/** How an agent is started. */
export interface Start {
  args: readonly string[];
  env: Readonly<Record<string, string>>;
}

/** A coding agent that runs without a terminal. */
export interface Agent {
  name: string;
  /** Its program and what comes before its arguments; undefined where it is not installed. */
  command: readonly string[] | undefined;
  script: Script;
  /** What models do where it knows nothing of the name of their pool, and offers other tools. Default: the same. */
  namedScript?: Script;
  /** Models of its sessions by provider, where they are others than those of most agents. */
  models?: Readonly<Record<string, string>>;
  /** Writes its settings. */
  start(place: Place): Start;
}

/** The files of a session: one is read and changed, the other one is an image. */
export const notes = {
  name: "notes.txt",
  before: "The harbour opens at six. tide-4711\n",
  after: "The harbour opens at seven. tide-4711\n",
};
export const picture = "picture.png";

export const prompt = `Read ${notes.name} and ${picture}. Then make the harbour open at seven.`;
/** The last words of the model. */
export const ending = "The harbour opens at seven now.";

/** A command that harms nothing. What it prints is nowhere else. */
export const command = "printf lantern-%d 42";
export const printed = /lantern-42/;
/** What only the file holds. */
export const readNotes = /tide-4711/;

export const think = (text: string): Said => ({ kind: "thinking", text });
export const say = (text: string): Said => ({ kind: "text", text });
export const call = (name: string, given: Record<string, unknown>): Said => ({ kind: "call", name, arguments: given });

/** Three rounds of tools, of which the first has two calls, and the end. */
export function inThreeRounds(first: readonly Said[], second: Said, third: Said): ModelTurn[] {
  return [
    { said: [think("I look first."), say("Let me look."), ...first] },
    { said: [think("Now a command."), second] },
    { said: [think("Now the change."), third] },
    { said: [say(ending)] },
  ];
}
