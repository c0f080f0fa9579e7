import { isObject } from "../../lib/json.ts";
import { mapItems, mapMembers, type Replace } from "../../lib/json-strings.ts";
import type { Body, Phase, RequestType, Scope } from "../types.ts";
import { isNoText } from "./member-kinds.ts";
import { readRequest } from "./request-walk.ts";
import { toolAnswer, toolRequest, toToolText } from "./tool-calls.ts";
import {
  everyString,
  everyStringBut,
  items,
  itemsOrOne,
  type MemberWalks,
  members,
  noString,
  text,
  type Walk,
  walkMembers,
} from "./walks.ts";

/** Identifies the strings of a call. */
export interface BodyPlace {
  readonly phase: Phase;
  readonly requestType: RequestType;
}

/** Replaces the strings of a request; returns the same request if nothing changed. */
type RequestWalk = (body: Body, replace: Replace, scope: Scope) => Body;

/** Fields of parts and items that hold text or parts. */
const partWalks: MemberWalks = {
  text: content,
  refusal: content,
  input_text: content,
  output_text: content,
  thinking: content,
  content,
  stdout: content,
  stderr: content,
};
const annotations: Walk = items(members({ title: text }));

const plainPart = Object.entries({ ...partWalks, annotations });
/** The source of a document counts where it is text (https://docs.claude.com/en/docs/build-with-claude/citations). */
const documentPart = Object.entries({
  ...partWalks,
  title: text,
  context: text,
  source: documentSource,
  annotations,
});
const foundPart = Object.entries({ ...partWalks, title: text, annotations });
/** Of the caller's tools and the provider's own. */
const toolPart = Object.entries({ ...partWalks, annotations, input: everyString });

function partWalksOf(type: unknown): readonly (readonly [string, Walk])[] {
  if (typeof type !== "string") return plainPart;
  if (type === "document" || type === "search_result") return documentPart;
  if (type.startsWith("web_search_result")) return foundPart;
  return type.endsWith("tool_use") ? toolPart : plainPart;
}

/** A part of a message's content: its text, or the content of a tool result. */
const part = (value: Body, replace: Replace): Body => walkMembers(value, partWalksOf(value.type), replace);

/** A string, a part, or a list of either. */
function content(value: unknown, replace: Replace): unknown {
  if (typeof value === "string") return replace(value);
  return isObject(value) ? part(value, replace) : mapItems(value, (item) => content(item, replace));
}

const textSource = members({ data: text });
const contentSource = members({ content });

function documentSource(value: unknown, replace: Replace): unknown {
  if (!isObject(value)) return value;
  if (value.type === "text") return textSource(value, replace);
  return value.type === "content" ? contentSource(value, replace) : value;
}

/** Types of blocks, and the message fields that repeat their text. */
const blockFields = [
  ["text", ["content"]],
  ["thinking", ["reasoning_content", "reasoning"]],
] as const;

const isBlockOf = (block: unknown, kind: string): block is Body =>
  isObject(block) && block.type === kind && typeof block[kind] === "string";

/** A message, before and after its rewriting. */
type Said = readonly [before: Body, now: Body];

/**
 * The blocks of one type. Blocks that repeat the text of the message are not read separately; they are set to its
 * rewritten text.
 */
function walkBlocksOf(
  blocks: readonly unknown[],
  [kind, names]: (typeof blockFields)[number],
  { said: [before, now], replace }: { said: Said; replace: Replace },
): readonly unknown[] {
  const own = blocks.filter((block) => isBlockOf(block, kind));
  const whole = own.map((block) => block[kind]).join("");
  const name = names.find((one) => before[one] === whole);
  if (name === undefined) return blocks.map((block) => (isBlockOf(block, kind) ? part(block, replace) : block));
  if (now[name] === before[name]) return blocks;
  return blocks.flatMap((block) => {
    if (!isBlockOf(block, kind)) return [block];
    return block === own[0] ? [{ ...block, [kind]: now[name] }] : [];
  });
}

/** The content blocks of a message. */
function walkBlocks(blocks: unknown, said: Said, replace: Replace): unknown {
  if (!Array.isArray(blocks)) return blocks;
  let changed: readonly unknown[] = blocks;
  for (const kind of blockFields) changed = walkBlocksOf(changed, kind, { said, replace });
  const isDone = (block: unknown) => blockFields.some(([kind]) => isBlockOf(block, kind));
  const all = changed.map((block) => (isDone(block) ? block : content(block, replace)));
  return all.length === blocks.length && all.every((block, index) => block === blocks[index]) ? blocks : all;
}

/** Whether a message is a text and nothing else: most are. */
function isPlainMessage(message: Body): boolean {
  for (const name in message) {
    if (name === "content" ? typeof message[name] !== "string" : name !== "role" && message[name] !== null)
      return false;
  }
  return true;
}

/** Arguments of a function call: JSON text, or from some providers an object. */
const called = members({ arguments: everyString });

const messageContent = Object.entries<Walk>({
  content,
  refusal: content,
  reasoning_content: content,
  reasoning: content,
});
const messageRest = Object.entries<Walk>({
  // reasoning in OpenRouter's form: its text is in two members
  reasoning_details: items(members({ text, summary: text })),
  audio: members({ transcript: text }),
  function_call: called,
  tool_calls: items(members({ function: called, custom: members({ input: text }) })),
});

function message(value: unknown, replace: Replace): unknown {
  if (!isObject(value)) return value;
  if (isPlainMessage(value)) return walkMembers(value, plainContent, replace);
  const said = walkMembers(value, messageContent, replace);
  const blocks = walkBlocks(value.content_blocks, [value, said], replace);
  const changed = blocks === value.content_blocks ? said : { ...said, content_blocks: blocks };
  return walkMembers(changed, messageRest, replace);
}

const plainContent = [["content", text]] as const;

const roleOf = (turn: unknown): unknown => (isObject(turn) ? turn.role : undefined);
const isUsers = (turn: unknown): boolean => roleOf(turn) === "user";

/** The turns of a request. */
interface Turns {
  readonly member: string;
  readonly turn: Walk;
  /** They may be one string. */
  readonly mayBeText?: boolean;
  /** A single object counts as a list of one. */
  readonly mayBeOne?: boolean;
  isUsers(turn: unknown): boolean;
  /** Index of the first turn of scope `last`. */
  startOfLast(turns: readonly unknown[]): number;
}

/** The turns that a scope means. */
function walkTurns(value: unknown, turns: Turns, { replace, scope }: { replace: Replace; scope: Scope }): unknown {
  if (typeof value === "string") return turns.mayBeText ? replace(value) : value;
  if (turns.mayBeOne && isObject(value))
    return scope === "user" && !turns.isUsers(value) ? value : turns.turn(value, replace);
  const start = scope === "last" && Array.isArray(value) ? turns.startOfLast(value) : 0;
  return mapItems(value, (turn, index) => {
    const isMeant = scope === "user" ? turns.isUsers(turn) : index >= start;
    return isMeant ? turns.turn(turn, replace) : turn;
  });
}

/**
 * A request of turns.
 *
 * @param instructions Members that only the scope `all` means.
 * @param always Members that every scope means.
 */
function inTurns(turns: Turns, instructions: MemberWalks = {}, always: MemberWalks = {}): RequestWalk {
  const [inAll, inEach] = [Object.entries(instructions), Object.entries(always)];
  return (body, replace, scope) => {
    const before = body[turns.member];
    const after = walkTurns(before, turns, { replace, scope });
    const changed = after === before ? body : { ...body, [turns.member]: after };
    const filled = walkMembers(changed, inEach, replace);
    return scope === "all" ? walkMembers(filled, inAll, replace) : filled;
  };
}

/** Adjacent results of tools belong to the same turn. */
function startOfResults(messages: readonly unknown[]): number {
  let start = messages.length - 1;
  while (start > 0 && roleOf(messages[start]) === "tool" && roleOf(messages[start - 1]) === "tool") start--;
  return start;
}

const messages: Turns = { member: "messages", turn: message, isUsers, startOfLast: startOfResults };

/** Fields in which calls of built-in tools hold their input and output. */
const callMembers = ["action", "operation", "code", "queries", "results", "outputs"];

/** Every string of such a field but keywords, ids and media. */
function walkCall(value: unknown, replace: Replace, name: string, holder: Body = {}): unknown {
  if (typeof value === "string") return isNoText(name, value, holder) ? value : replace(value);
  if (Array.isArray(value)) return mapItems(value, (item) => walkCall(item, replace, name, holder));
  return isObject(value) ? mapMembers(value, (inner, key) => walkCall(inner, replace, key, value)) : value;
}

const itemWalks: MemberWalks = {
  summary: content,
  output: content,
  error: content,
  reason: content,
  arguments: everyString,
};
const plainItem = Object.entries(itemWalks);
const customCall = Object.entries({ ...itemWalks, input: text });
const builtInCall = Object.entries({
  ...itemWalks,
  ...Object.fromEntries(
    callMembers.map((name): [string, Walk] => [name, (value, replace) => walkCall(value, replace, name)]),
  ),
});

/** An item of a Responses request or response. */
function item(value: unknown, replace: Replace): unknown {
  if (!isObject(value)) return content(value, replace);
  const type = typeof value.type === "string" ? value.type : "";
  const walks = type === "custom_tool_call" ? customCall : type.endsWith("_call") ? builtInCall : plainItem;
  return walkMembers(part(value, replace), walks, replace);
}

/** Variables of a prompt stored at the provider. */
function variables(value: unknown, replace: Replace): unknown {
  return isObject(value) ? mapMembers(value, (one) => content(one, replace)) : value;
}

const input: Turns = { member: "input", turn: item, mayBeText: true, isUsers, startOfLast: () => 0 };

/** Fields of Gemini parts that hold JSON or code; the caller may use either spelling. */
const turnPart = members({
  text,
  functionCall: members({ args: everyString }),
  function_call: members({ args: everyString }),
  functionResponse: members({ response: everyString }),
  function_response: members({ response: everyString }),
  executableCode: members({ code: everyString }),
  executable_code: members({ code: everyString }),
  codeExecutionResult: members({ output: everyString }),
  code_execution_result: members({ output: everyString }),
});

/** A turn of the Gemini API. */
const turn = members({ parts: itemsOrOne(turnPart) });

const contents: Turns = {
  member: "contents",
  turn,
  mayBeOne: true,
  isUsers: (one) => roleOf(one) === "user" || roleOf(one) === undefined,
  startOfLast: ({ length }) => length - 1,
};

/** All strings of a request of unknown structure, read-only. */
const anyRequest: Walk = (body, replace) => {
  for (const string of readRequest(body).strings) replace(string);
  return body;
};

const choices = members({ choices: items(members({ text, message })) });

/** Fields of a transcript that repeat its text in pieces. */
const transcriptPieces = ["segments", "words", "logprobs"];

const transcriptText = members({ text });
const transcriptSegments = members({ segments: items(members({ text })) });

/** A transcript: where its text changes, what repeats it in pieces is left out. */
const transcript: Walk = (body, replace) => {
  const changed = transcriptText(body, replace);
  const whole = transcriptSegments(changed, replace);
  if (changed === body || !isObject(whole)) return whole;
  return Object.fromEntries(Object.entries(whole).filter(([name]) => !transcriptPieces.includes(name)));
};

/** The prompts that a model wrote for its images (https://platform.openai.com/docs/api-reference/images/object). */
const images = members({ data: items(members({ revised_prompt: text })) });

/** Pages of a document, without images and what says where things are. */
const pages = everyStringBut(new Set(["image_base64", "id", "type"]));

/** Pages that a search found, without fields that are not text. */
const results = everyStringBut(new Set(["date", "type", "id"]));

/**
 * Fields of a client's events in a session that hold keywords, ids and media
 * (https://platform.openai.com/docs/api-reference/realtime-client-events).
 */
const eventFacts: ReadonlySet<string> = new Set([
  "type",
  "event_id",
  "id",
  "object",
  "role",
  "status",
  "item_id",
  "response_id",
  "call_id",
  "previous_item_id",
  "model",
  "voice",
  "format",
  "audio",
  "image_url",
  "tool_choice",
  "conversation",
  "eagerness",
  "detail",
]);
/** Lists of keywords. */
const eventLists: readonly string[] = ["modalities", "output_modalities", "include"];

const eventString = everyStringBut(eventFacts);

/** An event of a session: every string that may reach a model or its user. */
function sessionEvent(body: unknown, replace: Replace): unknown {
  if (!isObject(body)) return body;
  return mapMembers(body, (value, name) => {
    if (eventLists.includes(name) || (eventFacts.has(name) && typeof value === "string")) return value;
    const isHolder = name === "session" || name === "response";
    return isHolder && isObject(value) ? sessionEvent(value, replace) : eventString(value, replace);
  });
}

/** Where the strings of requests and responses stand, by request type. Other requests are read whole. */
const bodies: { readonly [Type in RequestType]?: readonly [request: Walk | RequestWalk, answer: Walk] } = {
  chatComplete: [inTurns(messages), choices],
  complete: [members({ prompt: content, suffix: text }), choices],
  messages: [inTurns(messages, { system: content }), members({ content })],
  messagesCountTokens: [inTurns(messages, { system: content }), noString],
  createModelResponse: [
    inTurns(input, { instructions: text }, { prompt: members({ variables }) }),
    members({ output: items(item) }),
  ],
  generateContent: [
    inTurns(contents, { systemInstruction: turn, system_instruction: turn }),
    members({ candidates: items(members({ content: turn })) }),
  ],
  // of OpenAI and of Gemini
  embed: [members({ content: turn, input: content, requests: items(members({ content: turn })) }), noString],
  createTranscription: [anyRequest, transcript],
  createTranslation: [anyRequest, transcript],
  ocr: [anyRequest, members({ pages, document_annotation: pages })],
  search: [anyRequest, members({ results })],
  imageGenerate: [anyRequest, images],
  imageEdit: [anyRequest, images],
  realtime: [sessionEvent, sessionEvent],
  mcpToolCall: [toolRequest, toolAnswer],
  proxy: [noString, noString],
};

function walkOf({ phase, requestType }: BodyPlace): RequestWalk {
  const [request, answer] = bodies[requestType] ?? [anyRequest, noString];
  return (phase === "beforeRequestHook" ? request : answer) as RequestWalk; // objects stay objects
}

/**
 * The strings of a request or response, part by part. Of a request: its last turn, or what the scope says. Of a
 * response: its text and the arguments of its tool calls, over all choices.
 */
export function readStrings(place: BodyPlace, body: Body, scope: Scope): string[] {
  const found: string[] = [];
  walkOf(place)(
    body,
    (string) => {
      found.push(string);
      return string;
    },
    scope,
  );
  return found;
}

/** The text of a call as one, where that is more than its strings: calls of tools are seen as JSON. */
export function toWholeText(
  { phase, requestType, restoreNumbers }: BodyPlace & { restoreNumbers?: (text: string) => string },
  body: Body,
): string | undefined {
  if (requestType !== "mcpToolCall") return undefined;
  const whole = toToolText(phase, body);
  return restoreNumbers?.(whole) ?? whole;
}

/**
 * The body with its strings replaced, in the order of `readStrings`; null leaves a string unchanged. The given body is
 * not modified.
 */
export function writeStrings(
  place: BodyPlace,
  body: Body,
  { scope, strings }: { scope: Scope; strings: readonly (string | null)[] },
): Body {
  let index = 0;
  return walkOf(place)(body, (string) => strings[index++] ?? string, scope);
}

/** Whether a request has token ids instead of text: they depend on the provider's tokenizer and cannot be read. */
export function holdsTokens({ phase, requestType }: BodyPlace, { prompt, input }: Body): boolean {
  if (phase !== "beforeRequestHook") return false;
  const said = requestType === "complete" ? prompt : requestType === "embed" ? input : undefined;
  const isToken = (one: unknown): boolean => typeof one === "number" || (Array.isArray(one) && one.some(isToken));
  return Array.isArray(said) && said.some(isToken);
}
