import { isObject } from "../lib/json.ts";
import { readLeaves } from "./leaves.ts";
import { isNoText } from "./members.ts";
import { toToolText, walkToolAnswer, walkToolRequest } from "./tool-texts.ts";
import type { Body, Phase, Replace, RequestType, Scope } from "./types.ts";
import { mapItems, mapMembers, onText, walkValues, withMember } from "./walk-values.ts";

/** Identifies the strings of a call. */
export interface TextPlace {
  readonly phase: Phase;
  readonly requestType: RequestType;
}

/** Rewrites the strings of a body; returns the same body if nothing changed. */
type Walk = (body: Body, replace: Replace, scope: Scope) => Body;

/** A list with its items changed; a single object counts as a list of one. */
function mapListed(value: unknown, change: (item: unknown, index: number) => unknown): unknown {
  return isObject(value) ? change(value, 0) : mapItems(value, change);
}

/** Walks the value of a field. */
const onMember =
  (name: string, replace: Replace) =>
  (value: unknown): unknown =>
    isObject(value) ? withMember(value, name, onText(replace)) : value;

/** Fields of parts and items that hold text or parts. */
const textMembers = ["text", "refusal", "input_text", "output_text", "thinking", "content", "stdout", "stderr"];
/** Fields that describe a document. */
const documentMembers = ["title", "context"];
/** Fields of a message that hold text besides its content. */
const messageMembers = ["refusal", "reasoning_content", "reasoning"];

/** Reasoning in OpenRouter's form: its text is in two members. */
function walkDetail(detail: unknown, replace: Replace): unknown {
  if (!isObject(detail)) return detail;
  return withMember(withMember(detail, "text", onText(replace)), "summary", onText(replace));
}

/** The source of a document, where it is text (https://docs.claude.com/en/docs/build-with-claude/citations). */
function walkSource(source: unknown, replace: Replace): unknown {
  if (!isObject(source)) return source;
  if (source.type === "text") return withMember(source, "data", onText(replace));
  return source.type === "content" ? withMember(source, "content", (inner) => walkContent(inner, replace)) : source;
}

/** A part of a message's content: its text, or the content of a tool result. */
function walkPart(part: Body, replace: Replace): Body {
  const type = typeof part.type === "string" ? part.type : "";
  let changed = part;
  for (const name of textMembers) changed = withMember(changed, name, (inner) => walkContent(inner, replace));
  if (type === "document" || type === "search_result") {
    for (const name of documentMembers) changed = withMember(changed, name, onText(replace));
    changed = withMember(changed, "source", (source) => walkSource(source, replace));
  }
  if (type.startsWith("web_search_result")) changed = withMember(changed, "title", onText(replace));
  changed = withMember(changed, "annotations", (list) => mapItems(list, onMember("title", replace)));
  // for the caller's tools and the provider's own
  return type.endsWith("tool_use") ? withMember(changed, "input", (input) => walkValues(input, replace)) : changed;
}

/** A string, a part, or a list of either. */
function walkContent(content: unknown, replace: Replace): unknown {
  if (typeof content === "string") return replace(content);
  return isObject(content) ? walkPart(content, replace) : mapItems(content, (part) => walkContent(part, replace));
}

/** Arguments of a function call: JSON text, or from some providers an object. */
const onArguments =
  (replace: Replace) =>
  (call: unknown): unknown =>
    isObject(call) ? withMember(call, "arguments", (given) => walkValues(given, replace)) : call;

/** A tool call of a chat. */
function walkToolCall(call: unknown, replace: Replace): unknown {
  if (!isObject(call)) return call;
  const changed = withMember(call, "function", onArguments(replace));
  return withMember(changed, "custom", onMember("input", replace));
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
  if (name === undefined) return blocks.map((block) => (isBlockOf(block, kind) ? walkPart(block, replace) : block));
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
  const all = changed.map((block) => (isDone(block) ? block : walkContent(block, replace)));
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

function walkMessage(message: unknown, replace: Replace): unknown {
  if (!isObject(message)) return message;
  if (isPlainMessage(message)) return withMember(message, "content", onText(replace));
  let changed = withMember(message, "content", (content) => walkContent(content, replace));
  for (const name of messageMembers) changed = withMember(changed, name, (said) => walkContent(said, replace));
  const said: Said = [message, changed];
  changed = withMember(changed, "content_blocks", (blocks) => walkBlocks(blocks, said, replace));
  changed = withMember(changed, "reasoning_details", (list) => mapItems(list, (one) => walkDetail(one, replace)));
  changed = withMember(changed, "audio", onMember("transcript", replace));
  changed = withMember(changed, "function_call", onArguments(replace));
  return withMember(changed, "tool_calls", (calls) => mapItems(calls, (call) => walkToolCall(call, replace)));
}

const roleOf = (message: unknown): unknown => (isObject(message) ? message.role : undefined);

/** Index of the last turn; adjacent tool results belong to the same turn. */
function startOfTurn(items: readonly unknown[], isToolResult: (item: unknown) => boolean): number {
  let start = items.length - 1;
  while (start > 0 && isToolResult(items[start]) && isToolResult(items[start - 1])) start--;
  return start;
}

/** The messages in a scope. */
function walkMessages(messages: unknown, replace: Replace, scope: Scope): unknown {
  const start = Array.isArray(messages) ? startOfTurn(messages, (one) => roleOf(one) === "tool") : 0;
  return mapItems(messages, (message, index) => {
    const isMeant = scope === "all" || (scope === "user" ? roleOf(message) === "user" : index >= start);
    return isMeant ? walkMessage(message, replace) : message;
  });
}

const chatRequest: Walk = (body, replace, scope) =>
  withMember(body, "messages", (messages) => walkMessages(messages, replace, scope));

const messagesRequest: Walk = (body, replace, scope) => {
  const changed = chatRequest(body, replace, scope);
  return scope === "all" ? withMember(changed, "system", (system) => walkContent(system, replace)) : changed;
};

/** Fields in which calls of built-in tools hold their input and output. */
const callMembers = ["action", "operation", "code", "queries", "results", "outputs"];

/** Every string of such a field but keywords, ids and media. */
function walkCall(value: unknown, replace: Replace, name: string, holder: Body = {}): unknown {
  if (typeof value === "string") return isNoText(name, value, holder) ? value : replace(value);
  if (Array.isArray(value)) return mapItems(value, (item) => walkCall(item, replace, name, holder));
  return isObject(value) ? mapMembers(value, (inner, key) => walkCall(inner, replace, key, value)) : value;
}

/** An item of a Responses request or response. */
function walkItem(item: unknown, replace: Replace): unknown {
  if (!isObject(item)) return walkContent(item, replace);
  const type = typeof item.type === "string" ? item.type : "";
  let changed = walkPart(item, replace);
  for (const name of ["summary", "output", "error", "reason"])
    changed = withMember(changed, name, (inner) => walkContent(inner, replace));
  changed = withMember(changed, "arguments", (given) => walkValues(given, replace));
  if (type === "custom_tool_call") changed = withMember(changed, "input", onText(replace));
  if (!type.endsWith("_call")) return changed;
  for (const name of callMembers) changed = withMember(changed, name, (inner) => walkCall(inner, replace, name));
  return changed;
}

function walkVariables(variables: unknown, replace: Replace): unknown {
  if (!isObject(variables)) return variables;
  let changed = variables;
  for (const name of Object.keys(variables)) {
    changed = withMember(changed, name, (value) => walkContent(value, replace));
  }
  return changed;
}

/** Variables of a prompt stored at the provider. */
const onPrompt =
  (replace: Replace) =>
  (prompt: unknown): unknown =>
    isObject(prompt) ? withMember(prompt, "variables", (variables) => walkVariables(variables, replace)) : prompt;

const responsesRequest: Walk = (body, replace, scope) => {
  const changed = withMember(body, "input", (input) =>
    typeof input === "string"
      ? replace(input)
      : mapItems(input, (item) => (scope !== "user" || roleOf(item) === "user" ? walkItem(item, replace) : item)),
  );
  const filled = withMember(changed, "prompt", onPrompt(replace));
  return scope === "all" ? withMember(filled, "instructions", onText(replace)) : filled;
};

/** Fields of Gemini parts that hold JSON or code, and where; the caller may use either spelling. */
const partMembers = [
  ["functionCall", "args"],
  ["function_call", "args"],
  ["functionResponse", "response"],
  ["function_response", "response"],
  ["executableCode", "code"],
  ["executable_code", "code"],
  ["codeExecutionResult", "output"],
  ["code_execution_result", "output"],
] as const;

function walkTurnPart(part: unknown, replace: Replace): unknown {
  if (!isObject(part)) return part;
  let changed = withMember(part, "text", onText(replace));
  for (const [name, inner] of partMembers) {
    changed = withMember(changed, name, (call) =>
      isObject(call) ? withMember(call, inner, (value) => walkValues(value, replace)) : call,
    );
  }
  return changed;
}

/** A turn of the Gemini API. */
function walkTurn(turn: unknown, replace: Replace): unknown {
  if (!isObject(turn)) return turn;
  return withMember(turn, "parts", (parts) => mapListed(parts, (part) => walkTurnPart(part, replace)));
}

const contentsRequest: Walk = (body, replace, scope) => {
  const { contents } = body;
  const last = Array.isArray(contents) ? contents.length - 1 : 0;
  let changed = withMember(body, "contents", (turns) =>
    mapListed(turns, (turn, index) => {
      const isUser = roleOf(turn) === "user" || roleOf(turn) === undefined;
      const isMeant = scope === "all" || (scope === "user" ? isUser : index === last);
      return isMeant ? walkTurn(turn, replace) : turn;
    }),
  );
  if (scope !== "all") return changed;
  for (const name of ["systemInstruction", "system_instruction"]) {
    changed = withMember(changed, name, (turn) => walkTurn(turn, replace));
  }
  return changed;
};

const choicesAnswer: Walk = (body, replace) =>
  withMember(body, "choices", (choices) =>
    mapItems(choices, (choice) => {
      if (!isObject(choice)) return choice;
      const changed = withMember(choice, "text", onText(replace));
      return withMember(changed, "message", (message) => walkMessage(message, replace));
    }),
  );

const noText: Walk = (body) => body;

const completionRequest: Walk = (body, replace) => {
  const changed = withMember(body, "prompt", (prompt) => walkContent(prompt, replace));
  return withMember(changed, "suffix", onText(replace));
};

/** Embeddings requests in the format of OpenAI or Gemini. */
const embedRequest: Walk = (body, replace) => {
  const ofOne = (one: Body): Body => withMember(one, "content", (turn) => walkTurn(turn, replace));
  const changed = withMember(ofOne(body), "input", (input) => walkContent(input, replace));
  return withMember(changed, "requests", (list) => mapItems(list, (one) => (isObject(one) ? ofOne(one) : one)));
};

/** All strings of a request of unknown structure, read-only. */
const anyRequest: Walk = (body, replace) => {
  for (const text of readLeaves(body).texts) replace(text);
  return body;
};

/** Fields of a transcript that repeat its text in pieces. */
const transcriptPieces = ["segments", "words", "logprobs"];

/** A transcript: where its text changes, what repeats it in pieces is left out. */
const transcriptAnswer: Walk = (body, replace) => {
  const changed = withMember(body, "text", onText(replace));
  const whole = withMember(changed, "segments", (segments) => mapItems(segments, onMember("text", replace)));
  if (changed === body) return whole;
  return Object.fromEntries(Object.entries(whole).filter(([name]) => !transcriptPieces.includes(name)));
};

/** The prompts that a model wrote for its images (https://platform.openai.com/docs/api-reference/images/object). */
const imagesAnswer: Walk = (body, replace) =>
  withMember(body, "data", (images) => mapItems(images, onMember("revised_prompt", replace)));

/** Every string of a JSON value but those of some fields. */
function walkOthers(value: unknown, replace: Replace, left: ReadonlySet<string>): unknown {
  if (typeof value === "string") return replace(value);
  if (Array.isArray(value)) return mapItems(value, (item) => walkOthers(item, replace, left));
  if (!isObject(value)) return value;
  let changed = value;
  for (const name of Object.keys(value)) {
    // only strings are keywords and media: lists and objects of that name hold further fields
    if (left.has(name) && typeof value[name] === "string") continue;
    changed = withMember(changed, name, (inner) => walkOthers(inner, replace, left));
  }
  return changed;
}

/** Fields of the pages of a document that hold images or say where things are. */
const pageFacts: ReadonlySet<string> = new Set(["image_base64", "id", "type"]);

const documentAnswer: Walk = (body, replace) => {
  const changed = withMember(body, "pages", (pages) => walkOthers(pages, replace, pageFacts));
  return withMember(changed, "document_annotation", (given) => walkOthers(given, replace, pageFacts));
};

/** Fields of a page that a search found which are not text. */
const resultFacts: ReadonlySet<string> = new Set(["date", "type", "id"]);

const searchAnswer: Walk = (body, replace) =>
  withMember(body, "results", (results) => walkOthers(results, replace, resultFacts));

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

/** An event of a session: every string that may reach a model or its user. */
const sessionEvent: Walk = (body, replace) => {
  const walk = (value: Body): Body => {
    let changed = value;
    for (const name of Object.keys(value)) {
      if (eventLists.includes(name) || (eventFacts.has(name) && typeof value[name] === "string")) continue;
      const isHolder = name === "session" || name === "response";
      changed = withMember(changed, name, (inner) =>
        isHolder && isObject(inner) ? walk(inner) : walkOthers(inner, replace, eventFacts),
      );
    }
    return changed;
  };
  return walk(body);
};

/** Walks over requests and responses, by request type. Other types are read whole. */
const walks: { readonly [Type in RequestType]?: readonly [request: Walk, answer: Walk] } = {
  chatComplete: [chatRequest, choicesAnswer],
  complete: [completionRequest, choicesAnswer],
  messages: [
    messagesRequest,
    (body, replace) => withMember(body, "content", (content) => walkContent(content, replace)),
  ],
  createModelResponse: [
    responsesRequest,
    (body, replace) => withMember(body, "output", (items) => mapItems(items, (item) => walkItem(item, replace))),
  ],
  generateContent: [
    contentsRequest,
    (body, replace) =>
      withMember(body, "candidates", (candidates) =>
        mapItems(candidates, (one) =>
          isObject(one) ? withMember(one, "content", (content) => walkTurn(content, replace)) : one,
        ),
      ),
  ],
  embed: [embedRequest, noText],
  createTranscription: [anyRequest, transcriptAnswer],
  createTranslation: [anyRequest, transcriptAnswer],
  ocr: [anyRequest, documentAnswer],
  search: [anyRequest, searchAnswer],
  imageGenerate: [anyRequest, imagesAnswer],
  imageEdit: [anyRequest, imagesAnswer],
  realtime: [sessionEvent, sessionEvent],
  messagesCountTokens: [messagesRequest, noText],
  proxy: [noText, noText],
  mcpToolCall: [walkToolRequest, walkToolAnswer],
};

function walkOf({ phase, requestType }: TextPlace): Walk {
  const [request, answer] = walks[requestType] ?? [anyRequest, noText];
  return phase === "beforeRequestHook" ? request : answer;
}

/**
 * The strings of a request or response, part by part. Of a request: its last turn, or what the scope says. Of a
 * response: its text and the arguments of its tool calls, over all choices.
 */
export function readText(place: TextPlace, body: Body, scope: Scope): string[] {
  const found: string[] = [];
  walkOf(place)(
    body,
    (text) => {
      found.push(text);
      return text;
    },
    scope,
  );
  return found;
}

/** The text of a call as one, where that is more than its strings: calls of tools are seen as JSON. */
export function toWholeText(
  { phase, requestType, restoreNumbers }: TextPlace & { restoreNumbers?: (text: string) => string },
  body: Body,
): string | undefined {
  if (requestType !== "mcpToolCall") return undefined;
  const text = toToolText(phase, body);
  return restoreNumbers?.(text) ?? text;
}

/**
 * The body with its strings replaced, in the order of `readText`; null leaves a string unchanged. The given body is
 * not modified.
 */
export function writeText(
  place: TextPlace,
  body: Body,
  { scope, texts }: { scope: Scope; texts: readonly (string | null)[] },
): Body {
  let index = 0;
  return walkOf(place)(body, (text) => texts[index++] ?? text, scope);
}

/** Whether a request has token ids instead of text: they depend on the provider's tokenizer and cannot be read. */
export function holdsTokens({ phase, requestType }: TextPlace, { prompt, input }: Body): boolean {
  if (phase !== "beforeRequestHook") return false;
  const said = requestType === "complete" ? prompt : requestType === "embed" ? input : undefined;
  const isToken = (one: unknown): boolean => typeof one === "number" || (Array.isArray(one) && one.some(isToken));
  return Array.isArray(said) && said.some(isToken);
}
