import { fnv1a } from "../../lib/fnv.ts";
import { isObject, objectsIn, parseJson } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ModelFacts } from "../../schemas/model-facts.ts";
import { withoutFields, withoutReasoning } from "./fit-fields.ts";
import type { ConversionOptions } from "./types.ts";

type Message = ChatRequest["messages"][number];
type Members = Record<string, unknown>;

const nine = /^[a-zA-Z0-9]{9}$/;
const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/** Nine letters and digits for an id, the same in every turn. */
function toNine(id: string): string {
  let made = "";
  // two hashes of 32 bits fill nine characters
  for (let [low, high] = [fnv1a(id), fnv1a(`${id}:high`)]; made.length < 9; ) {
    made += alphabet[(made.length % 2 === 0 ? low : high) % alphabet.length];
    if (made.length % 2 === 1) low = Math.floor(low / alphabet.length);
    else high = Math.floor(high / alphabet.length);
  }
  return made;
}

/** An id of a tool call as a host takes it. */
function toCallId(id: unknown, form: ModelFacts["callIds"]): unknown {
  if (typeof id !== "string") return id;
  if (form === "nine") return nine.test(id) ? id : toNine(id);
  return form === "plain" ? id.replace(/[^a-zA-Z0-9_-]/g, "_") : id;
}

/** Member that holds arguments which are not a JSON object. */
const brokenArguments = "invalid_arguments";

/**
 * Arguments of an earlier call as an object. A model may have written broken JSON; the conversation goes on with what it wrote
 * in a member, and the change is reported.
 */
export function readCallArguments(given: unknown, { drop }: Pick<ConversionOptions, "drop">): Members {
  if (isObject(given)) return given;
  if (given === undefined || given === null) return {};
  const text = String(given).trim();
  if (text === "") return {};
  const value = parseJson(text);
  if (isObject(value)) return value;
  drop("messages.tool_calls.arguments");
  return { [brokenArguments]: text };
}

function fitCall(call: Members, facts: ModelFacts, options: ConversionOptions): Members {
  let made = call;
  const id = toCallId(call.id, facts.callIds);
  if (id !== call.id) made = { ...made, id };
  const { function: named } = call;
  if (!facts.parsesArguments || !isObject(named)) return made;
  const text = typeof named.arguments === "string" ? named.arguments : "";
  if (isObject(parseJson(text))) return made;
  const fitted = JSON.stringify(readCallArguments(named.arguments, options));
  return { ...made, function: { ...named, arguments: fitted } };
}

function fitCalls(message: Message, facts: ModelFacts, options: ConversionOptions): Message {
  const { tool_calls: calls, tool_call_id: id } = message;
  const resultId = toCallId(id, facts.callIds);
  const made = resultId === id ? message : { ...message, tool_call_id: resultId };
  if (!Array.isArray(calls)) return made;
  const fitted = objectsIn(calls).map((call) => fitCall(call, facts, options));
  return fitted.every((call, index) => call === calls[index]) ? made : { ...made, tool_calls: fitted };
}

const isInstruction = ({ role }: Message): boolean => role === "system" || role === "developer";

const partsOf = ({ content }: Message): object[] =>
  Array.isArray(content) ? [...content] : content === "" ? [] : [{ type: "text", text: content ?? "" }];

/** Content that is one text. A mark of the prompt cache makes no difference: agents move it from turn to turn. */
function onlyText({ content }: Message): string | undefined {
  if (typeof content === "string") return content;
  const [only, ...others] = objectsIn(content);
  return others.length === 0 && only?.type === "text" && typeof only.text === "string" ? only.text : undefined;
}

/** Two messages of one role as one. */
function joinMessages(first: Message, second: Message): Message {
  const [before, after] = [onlyText(first), onlyText(second)];
  const isText = before !== undefined && after !== undefined;
  const content = isText ? `${before}\n\n${after}` : [...partsOf(first), ...partsOf(second)];
  return { ...first, content } as Message; // parts as they were
}

/** Whether a message counts where roles must alternate: calls and results do not. */
const isCounted = (message: Message): boolean =>
  message.role === "user" || (message.role === "assistant" && !hasCalls(message));

/** Messages whose roles alternate: neighbours of one role become one, and an empty answer stands between others. */
function alternateRoles(messages: readonly Message[]): Message[] {
  const made: Message[] = [];
  let last: string | undefined;
  for (const message of messages) {
    if (isCounted(message)) {
      const before = made.at(-1);
      const repeats = message.role === last;
      last = message.role;
      if (repeats && before && before.role === message.role && isCounted(before)) {
        made[made.length - 1] = joinMessages(before, message);
        continue;
      }
      if (repeats && message.role === "user") made.push({ role: "assistant", content: "" });
    }
    made.push(message);
  }
  return made;
}

/**
 * The user asks to go on where a conversation ends with the beginning of an answer
 * (https://platform.claude.com/docs/en/about-claude/models/migration-guide).
 */
function askToContinue(messages: ChatRequest["messages"], { drop }: ConversionOptions): ChatRequest["messages"] {
  const last = messages.at(-1);
  if (last?.role !== "assistant" || hasCalls(last)) return messages;
  drop("messages.prefill");
  return [...messages, { role: "user", content: "Continue from where you left off." }];
}

/** Instructions at the beginning as one message: before alternating roles, templates take only one. */
function joinInstructions(messages: readonly Message[]): readonly Message[] {
  const end = messages.findIndex((message) => !isInstruction(message));
  const count = end < 0 ? messages.length : end;
  if (count < 2) return messages;
  return [messages.slice(0, count).reduce(joinMessages), ...messages.slice(count)];
}

/**
 * Messages as a model takes them: ids and arguments of calls in its form, and instructions in mid conversation where it takes
 * them. They stay at their place, so that a request begins as the one before it did.
 */
export function fitMessages(
  messages: ChatRequest["messages"],
  facts: ModelFacts,
  options: ConversionOptions,
): ChatRequest["messages"] {
  const fitted = fitEach(messages, facts, options);
  const asked = facts.takesPrefill === false ? askToContinue(fitted, options) : fitted;
  return facts.alternatesRoles ? alternateRoles(joinInstructions(asked)) : asked;
}

const hasCalls = ({ role, tool_calls: calls }: Message): boolean =>
  role === "assistant" && Array.isArray(calls) && calls.length > 0;

/** A message with reasoning: an empty one where it has none, or a blank. */
function withReasoning(message: Message, { refusesEmptyReasoning = false }: ModelFacts): Message {
  const { reasoning_content: given } = message;
  if (typeof given === "string" && (given !== "" || !refusesEmptyReasoning)) return message;
  return { ...message, reasoning_content: refusesEmptyReasoning ? " " : "" };
}

/** A message in the model's form, whatever stands around it. */
function fitMessage(message: Message, facts: ModelFacts, options: ConversionOptions): Message {
  const { callIds = "any", parsesArguments = false, refusedMessageFields: refused = [] } = facts;
  let made = callIds !== "any" || parsesArguments ? fitCalls(message, facts, options) : message;
  if (facts.takesReasoning === false) made = withoutReasoning(made, options);
  if (refused.length > 0) made = withoutFields(made, refused, options);
  if (!hasCalls(message)) return made;
  if (facts.needsReasoningOfCalls) made = withReasoning(made, facts);
  return facts.needsTextOfCalls ? { ...made, content: made.content ?? "" } : made;
}

/** Facts that concern each message for itself. */
const messageFacts = [
  "parsesArguments",
  "refusedMessageFields",
  "needsReasoningOfCalls",
  "needsTextOfCalls",
] as const satisfies readonly (keyof ModelFacts)[];

function fitEach(
  messages: ChatRequest["messages"],
  facts: ModelFacts,
  options: ConversionOptions,
): ChatRequest["messages"] {
  const { callIds = "any", lateInstructions = "system", takesReasoning = true } = facts;
  const fits = callIds !== "any" || !takesReasoning || messageFacts.some((name) => facts[name]);
  const moves = lateInstructions === "user";
  if (!fits && !moves) return messages;
  const first = messages.findIndex((message) => !isInstruction(message));
  return messages.map((message, index) => {
    const isLate = moves && first >= 0 && index > first && isInstruction(message);
    const made = isLate ? { ...message, role: "user" } : message;
    return fits ? fitMessage(made, facts, options) : made;
  });
}
