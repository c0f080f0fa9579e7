// Clients as agents write them: each keeps the conversation in its API's own form and sends back what it received.

import { isObject } from "../../src/lib/json.ts";
import { readEvents } from "../../src/lib/sse.ts";

export type Members = Record<string, unknown>;

/** A tool that a client offers. */
export interface OfferedTool {
  name: string;
  /** Unlike that of any other tool: a model finds the tool by it, whatever its name became. */
  description: string;
  schema: Members;
  /** Takes free text that matches a grammar. Its schema is for APIs without such tools. Default: no. */
  isCustom?: boolean;
  /** The group it belongs to, where the API has groups; its name begins with it. */
  namespace?: string;
}

/** What holds for a whole conversation. */
export interface Setup {
  /** Instructions before the conversation; an empty string for none. */
  instructions: string;
  tools: readonly OfferedTool[];
  /** How much the model should think: an effort level, `off`, or undefined for the default of the model. */
  effort: string | undefined;
  /** A sampling temperature, as some agents always send. */
  temperature: number | undefined;
  streams: boolean;
  maxTokens: number;
  /** A number in [0, 1) that chooses the agent among those of the dialect. Default: the first, the SDK of the API's provider. */
  agent?: number;
}

/** What came of a tool call. */
export interface Outcome {
  text: string;
  isError: boolean;
  /** The result shows an image, where the API has a place for it. */
  hasImage: boolean;
}

/** What the client's side adds to the conversation. */
export interface Step {
  /** Results of the calls of the response before, in their order. */
  outcomes: readonly Outcome[];
  /** What the user says; an empty string for nothing. */
  text: string;
  hasImage: boolean;
  /** An instruction in mid conversation; an empty string for none. */
  instruction: string;
  /** The beginning of the answer, which the client writes itself where its model takes that. Default: none. */
  prefill?: string;
  /** The user interrupted the response before: only its text reached the client, if it was all text. Default: no. */
  isCut?: boolean;
}

/** A call as a client received it. */
export interface HeardCall {
  id: string;
  name: string;
  /** JSON text. */
  arguments: string;
}

/** What a client received. */
export interface Heard {
  text: string;
  reasoning: string;
  calls: HeardCall[];
}

/** A client of one API. */
export interface Client {
  /** Whether it offers the tools of the conversation. Default: yes. */
  offersTools?: boolean;
  /** Whether responses have a place for the model's reasoning. */
  showsReasoning: boolean;
  path(model: string): string;
  headers: Readonly<Record<string, string>>;
  /** The next request's body. */
  ask(step: Step, model: string): Members;
  /** Reads a response and remembers it as the API's clients do. */
  hear(response: Response): Promise<Heard>;
}

/** A red pixel. */
export const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

export const objectsOf = (value: unknown): Members[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** The agent of a conversation. */
export function pickAgent<Agent>(agents: readonly Agent[], { agent = 0 }: Setup): Agent {
  return agents[Math.floor(agent * agents.length)] as Agent;
}

/** The beginning of an answer that a client writes: not for models that refuse it, nor while they are asked to think. */
export function prefillOf({ prefill = "" }: Step, { effort }: Setup, model: string): string {
  const isRefused = /claude-(?:opus-4[-.][6-9]|sonnet-4[-.][6-9]|[a-z]+-[5-9])/.test(model);
  return isRefused || (effort !== undefined && effort !== "off") ? "" : prefill;
}

/** The first half of a text, as a client has it that was interrupted. */
export const firstHalf = (text: string): string => text.slice(0, Math.ceil(text.length / 2)).trimEnd();

/** Events of a stream whose data is JSON. */
export async function readStream(response: Response): Promise<Members[]> {
  return readEvents(await response.text()).flatMap(({ data }) => {
    if (data === "[DONE]") return [];
    const value: unknown = JSON.parse(data);
    if (!isObject(value)) throw new TypeError("an event is not an object");
    if (isObject(value.error)) throw new Error(`the stream reports an error: ${JSON.stringify(value.error)}`);
    return [value];
  });
}

/** A JSON response. */
export async function readWhole(response: Response): Promise<Members> {
  const value: unknown = JSON.parse(await response.text());
  if (!isObject(value)) throw new TypeError("a response is not an object");
  return value;
}

/** A string, or an empty one for what is no string. */
export const textIn = (value: unknown): string => (typeof value === "string" ? value : "");
