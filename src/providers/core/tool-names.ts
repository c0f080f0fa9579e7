import { InvalidRequestError } from "../../errors.ts";
import { fnv1a } from "../../lib/fnv.ts";
import { isObject, objectsIn } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";

type Members = Record<string, unknown>;

/** Names of functions as a host takes them, by the caller's names, and the way back. */
export interface ToolNames {
  /** The host's name for a caller's name. */
  readonly sent: ReadonlyMap<string, string>;
  /** The caller's name for a host's name. */
  readonly received: ReadonlyMap<string, string>;
}

/** What a host takes as the name of a function. */
export interface NameRules {
  /** Greatest length. */
  length: number;
  /** A letter or an underscore comes first. */
  beginsWithLetter: boolean;
}

const plain = /^[a-zA-Z0-9_-]*$/;
const first = /^[a-zA-Z_]/;
const foreign = /[^a-zA-Z0-9_-]/g;
/** An underscore and eight hexadecimal digits. */
const digestLength = 9;

/** The same short name in every turn, so that the provider's prompt cache holds. */
function shorten(name: string, { length, beginsWithLetter }: NameRules, salt: number): string {
  const digest = fnv1a(`${salt}:${name}`)
    .toString(16)
    .padStart(digestLength - 1, "0");
  const begin = beginsWithLetter && !first.test(name) ? "_" : "";
  return `${begin}${name.replace(foreign, "_")}`.slice(0, length - digestLength).concat("_", digest);
}

/** Longest name of a function, in characters. No host takes names as long, and a digest of each is computed. */
const maxNameLength = 1_024;

/** Names of functions in holders such as tools and calls. */
function namesIn(holders: readonly unknown[], path: string): string[] {
  return holders.flatMap((holder, index) => {
    const named = isObject(holder) ? holder.function : undefined;
    if (!isObject(named) || typeof named.name !== "string") return [];
    if (named.name.length <= maxNameLength) return [named.name];
    const param = `${path}.${index}.function.name`;
    throw new InvalidRequestError(`Invalid ${param}: a name has at most ${maxNameLength} characters`, {
      param,
      code: "invalid_tool_name",
    });
  });
}

/**
 * Names of functions in the tools of a request, and in its earlier calls.
 *
 * @throws {InvalidRequestError} If one is too long for any host.
 */
function listNames({ tools, messages }: ChatRequest): string[] {
  const called = messages.flatMap(({ tool_calls: calls }, index) =>
    Array.isArray(calls) ? namesIn(calls, `messages.${index}.tool_calls`) : [],
  );
  return [...namesIn(tools ?? [], "tools"), ...called];
}

/** Whether a host takes the name of a function. A value that is no string passes: the host judges it. */
export const takesName = (name: unknown, { length, beginsWithLetter }: NameRules): boolean =>
  typeof name !== "string" || (name.length <= length && plain.test(name) && (!beginsWithLetter || first.test(name)));

/** Whether a request has functions, or had some in earlier turns. */
export function namesFunctions({ tools, messages }: ChatRequest): boolean {
  return (tools?.length ?? 0) > 0 || messages.some(({ tool_calls: calls }) => Array.isArray(calls));
}

/**
 * Names that a host does not take, with those that are sent instead. Undefined where it takes all, as nearly always.
 *
 * @throws {InvalidRequestError} If one is too long for any host.
 */
export function findToolNames(request: ChatRequest, rules: NameRules): ToolNames | undefined {
  if (!namesFunctions(request)) return undefined;
  const names = listNames(request);
  const wrong = names.filter((name) => !takesName(name, rules));
  if (wrong.length === 0) return undefined;
  // one that the caller gave to another tool stands for that tool
  const given = new Set(names);
  const sent = new Map<string, string>();
  const received = new Map<string, string>();
  for (const name of wrong) {
    if (sent.has(name)) continue;
    let made = shorten(name, rules, 0);
    // a long name is hashed once: the names of a request can be made to meet many of its short ones
    for (let salt = 1, short = made; received.has(made) || given.has(made); salt++) made = shorten(short, rules, salt);
    sent.set(name, made);
    received.set(made, name);
  }
  return { sent, received };
}

/** An object with a `name`, renamed; the same object where its name stays. */
function renamed<Value>(value: Value, names: ReadonlyMap<string, string>): Value {
  if (!isObject(value) || typeof value.name !== "string") return value;
  const name = names.get(value.name);
  return name === undefined ? value : { ...value, name };
}

/** An object with a `function`, renamed; the same object where its name stays. */
function withRenamed(value: Members, names: ReadonlyMap<string, string>): Members {
  const made = renamed(value.function, names);
  return made === value.function ? value : { ...value, function: made };
}

function renameChoice(choice: ChatRequest["tool_choice"], names: ReadonlyMap<string, string>): Members {
  if (!isObject(choice)) return {};
  const { allowed_tools: allowed } = choice;
  const list = isObject(allowed) ? allowed.tools : choice.tools;
  const tools = Array.isArray(list) ? objectsIn(list).map((tool) => withRenamed(tool, names)) : undefined;
  const made = withRenamed(renamed(choice, names), names);
  if (!tools) return { tool_choice: made };
  return { tool_choice: isObject(allowed) ? { ...made, allowed_tools: { ...allowed, tools } } : { ...made, tools } };
}

/** The request with the host's names in its tools, its choice and its earlier calls. */
export function sendToolNames(request: ChatRequest, { sent }: ToolNames): ChatRequest {
  const { tools, messages, tool_choice: choice } = request;
  return {
    ...request,
    ...(tools && { tools: tools.map((tool) => ({ ...withRenamed(tool, sent), type: tool.type })) }),
    ...renameChoice(choice, sent),
    messages: messages.map((message) => {
      const { tool_calls: calls } = message;
      const made = renamed(message, sent);
      return Array.isArray(calls)
        ? { ...made, tool_calls: objectsIn(calls).map((call) => withRenamed(call, sent)) }
        : made;
    }),
  };
}

/** A choice of a response, or of a chunk, with the caller's names. */
function restoreChoice(choice: unknown, { received }: ToolNames): unknown {
  if (!isObject(choice)) return choice;
  const member = isObject(choice.message) ? "message" : "delta";
  const said = choice[member];
  if (!isObject(said) || !Array.isArray(said.tool_calls)) return choice;
  const calls = said.tool_calls.map((call) => (isObject(call) ? withRenamed(call, received) : call));
  return { ...choice, [member]: { ...said, tool_calls: calls } };
}

/** A response or a chunk with the caller's names. */
export function restoreToolNames<Answer extends object>(answer: Answer, names: ToolNames): Answer {
  const choices: unknown = Reflect.get(answer, "choices");
  if (!Array.isArray(choices)) return answer;
  return { ...answer, choices: choices.map((choice) => restoreChoice(choice, names)) };
}
