import { isObject } from "../lib/json.ts";
import { type Leaves, readLeaves } from "./leaves.ts";
import type { Body, Phase, RequestType, Scope } from "./types.ts";

/** Which texts of a call are meant. */
interface TextPlace {
  readonly phase: Phase;
  readonly requestType: RequestType;
}

/** Gives a text another one, or the same. */
type Replace = (text: string) => string;

/** Rewrites the texts of a body: the same body where none changed. */
type Walk = (body: Body, replace: Replace, scope: Scope) => Body;

/** An object with one member changed, or itself. */
function withMember<Value extends Body>(value: Value, name: string, change: (member: unknown) => unknown): Value {
  const before = value[name];
  const after = change(before);
  return after === before ? value : { ...value, [name]: after };
}

/** A list with its items changed, or itself. */
function mapItems(value: unknown, change: (item: unknown, index: number) => unknown): unknown {
  if (!Array.isArray(value)) return value;
  const changed = value.map(change);
  return changed.some((item, index) => item !== value[index]) ? changed : value;
}

/** A list with its items changed; an object stands for a list of one. */
function mapListed(value: unknown, change: (item: unknown, index: number) => unknown): unknown {
  return isObject(value) ? change(value, 0) : mapItems(value, change);
}

const onText =
  (replace: Replace) =>
  (value: unknown): unknown =>
    typeof value === "string" ? replace(value) : value;

/** The text under a name of an object. */
const onMember =
  (name: string, replace: Replace) =>
  (value: unknown): unknown =>
    isObject(value) ? withMember(value, name, onText(replace)) : value;

/** Names under which parts and items hold texts of their own: one, or parts. */
const textMembers = ["text", "refusal", "input_text", "output_text", "thinking", "content", "stdout", "stderr"];
/** Names under which documents say what they are. */
const documentMembers = ["title", "context"];
/** Names under which a message holds a text besides its content. */
const messageMembers = ["refusal", "reasoning_content", "reasoning"];

/** What a document is made from, where that is text (https://docs.claude.com/en/docs/build-with-claude/citations). */
function walkSource(source: unknown, replace: Replace): unknown {
  if (!isObject(source)) return source;
  if (source.type === "text") return withMember(source, "data", onText(replace));
  return source.type === "content" ? withMember(source, "content", (inner) => walkContent(inner, replace)) : source;
}

/** A part of a message's content: its text, or what is inside a tool's result. */
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
  // of the caller's tools and of those a provider runs itself
  return type.endsWith("tool_use") ? withMember(changed, "input", (input) => walkValues(input, replace)) : changed;
}

/** A text, a part, or a list of either. */
function walkContent(content: unknown, replace: Replace): unknown {
  if (typeof content === "string") return replace(content);
  return isObject(content) ? walkPart(content, replace) : mapItems(content, (part) => walkContent(part, replace));
}

/** Every text inside a JSON value. */
function walkValues(value: unknown, replace: Replace): unknown {
  if (typeof value === "string") return replace(value);
  if (Array.isArray(value)) return mapItems(value, (item) => walkValues(item, replace));
  if (!isObject(value)) return value;
  let changed = value;
  for (const name of Object.keys(value)) changed = withMember(changed, name, (inner) => walkValues(inner, replace));
  return changed;
}

/** What a function is given: a text, or from some providers the values it tells of. */
const onArguments =
  (replace: Replace) =>
  (call: unknown): unknown =>
    isObject(call) ? withMember(call, "arguments", (given) => walkValues(given, replace)) : call;

/** A call in a chat. */
function walkToolCall(call: unknown, replace: Replace): unknown {
  if (!isObject(call)) return call;
  const changed = withMember(call, "function", onArguments(replace));
  return withMember(changed, "custom", onMember("input", replace));
}

/** Kinds of blocks, and the members of a message that say what their texts say together. */
const blockTexts = [
  ["text", ["content"]],
  ["thinking", ["reasoning_content", "reasoning"]],
] as const;

const isBlockOf = (block: unknown, kind: string): block is Body =>
  isObject(block) && block.type === kind && typeof block[kind] === "string";

/** What a message says beside its blocks, before and now. */
type Said = readonly [before: Body, now: Body];

/**
 * The blocks of one kind. Where they say what the message says, they are no texts of their own and are made to say what it
 * says now.
 */
function walkBlocksOf(
  blocks: readonly unknown[],
  [kind, names]: (typeof blockTexts)[number],
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

/** The blocks a message is made of. */
function walkBlocks(blocks: unknown, said: Said, replace: Replace): unknown {
  if (!Array.isArray(blocks)) return blocks;
  let changed: readonly unknown[] = blocks;
  for (const kind of blockTexts) changed = walkBlocksOf(changed, kind, { said, replace });
  const isDone = (block: unknown) => blockTexts.some(([kind]) => isBlockOf(block, kind));
  const all = changed.map((block) => (isDone(block) ? block : walkContent(block, replace)));
  return all.length === blocks.length && all.every((block, index) => block === blocks[index]) ? blocks : all;
}

function walkMessage(message: unknown, replace: Replace): unknown {
  if (!isObject(message)) return message;
  let changed = withMember(message, "content", (content) => walkContent(content, replace));
  for (const name of messageMembers) changed = withMember(changed, name, (said) => walkContent(said, replace));
  const said: Said = [message, changed];
  changed = withMember(changed, "content_blocks", (blocks) => walkBlocks(blocks, said, replace));
  changed = withMember(changed, "audio", onMember("transcript", replace));
  changed = withMember(changed, "function_call", onArguments(replace));
  return withMember(changed, "tool_calls", (calls) => mapItems(calls, (call) => walkToolCall(call, replace)));
}

const roleOf = (message: unknown): unknown => (isObject(message) ? message.role : undefined);

/** Where the last turn begins: results of tools that stand side by side are one turn. */
function startOfTurn(items: readonly unknown[], isToolResult: (item: unknown) => boolean): number {
  let start = items.length - 1;
  while (start > 0 && isToolResult(items[start]) && isToolResult(items[start - 1])) start--;
  return start;
}

/** The messages a scope means. */
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

/** Names under which calls of tools that the API has itself hold what they are given, and what came of it. */
const callMembers = ["action", "operation", "code", "queries", "results", "outputs"];

/** An item of a Responses request or answer. */
function walkItem(item: unknown, replace: Replace): unknown {
  if (!isObject(item)) return walkContent(item, replace);
  const type = typeof item.type === "string" ? item.type : "";
  let changed = walkPart(item, replace);
  for (const name of ["summary", "output", "error", "reason"])
    changed = withMember(changed, name, (inner) => walkContent(inner, replace));
  changed = withMember(changed, "arguments", (given) => walkValues(given, replace));
  if (type === "custom_tool_call") changed = withMember(changed, "input", onText(replace));
  if (!type.endsWith("_call")) return changed;
  for (const name of callMembers) changed = withMember(changed, name, (inner) => walkValues(inner, replace));
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

/** What a prompt that is kept at the provider is filled with. */
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

/** Members of a part of the Gemini API that hold JSON or code, and where in them; both spellings are the caller's to choose. */
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

const noTexts: Walk = (body) => body;

const completionRequest: Walk = (body, replace) => {
  const changed = withMember(body, "prompt", (prompt) => walkContent(prompt, replace));
  return withMember(changed, "suffix", onText(replace));
};

/** Requests for embeddings, in the shape of OpenAI or of the Gemini API. */
const embedRequest: Walk = (body, replace) => {
  const ofOne = (one: Body): Body => withMember(one, "content", (turn) => walkTurn(turn, replace));
  const changed = withMember(ofOne(body), "input", (input) => walkContent(input, replace));
  return withMember(changed, "requests", (list) => mapItems(list, (one) => (isObject(one) ? ofOne(one) : one)));
};

/** All strings of a request whose texts stand anywhere; it cannot be changed. */
const anyRequest: Walk = (body, replace) => {
  for (const text of readLeaves(body).texts) replace(text);
  return body;
};

/** Walks by kind of request: over the request, over the answer. Those of other kinds are read whole. */
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
  embed: [embedRequest, noTexts],
  messagesCountTokens: [messagesRequest, noTexts],
  proxy: [noTexts, noTexts],
};

function walkOf({ phase, requestType }: TextPlace): Walk {
  const [request, answer] = walks[requestType] ?? [anyRequest, noTexts];
  return phase === "beforeRequestHook" ? request : answer;
}

/**
 * The texts of a request or an answer, part by part: of a request those of its last turn, or of what the scope names; of an
 * answer what it says and the arguments of the functions it calls, over all its choices.
 */
export function readTexts(place: TextPlace, body: Body, scope: Scope): string[] {
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

/** What a request says besides the texts that were read, and whether it holds what cannot be read. */
export function readRest({ phase }: TextPlace, body: Body, known: readonly string[]): Leaves {
  if (phase !== "beforeRequestHook") return { texts: [], hasOpaque: false };
  const seen = new Set(known);
  const { texts, hasOpaque } = readLeaves(body);
  return { texts: texts.filter((text) => !seen.has(text)), hasOpaque };
}

/**
 * The body with other texts, place by place as `readTexts` gives them; null leaves one as it is. The body itself stays as
 * it is.
 */
export function writeTexts(
  place: TextPlace,
  body: Body,
  { scope, texts }: { scope: Scope; texts: readonly (string | null)[] },
): Body {
  let index = 0;
  return walkOf(place)(body, (text) => texts[index++] ?? text, scope);
}

/** Whether a request says something in tokens instead of texts: those are of the provider's own, and cannot be read here. */
export function holdsTokens({ phase, requestType }: TextPlace, { prompt, input }: Body): boolean {
  if (phase !== "beforeRequestHook") return false;
  const said = requestType === "complete" ? prompt : requestType === "embed" ? input : undefined;
  const isToken = (one: unknown): boolean => typeof one === "number" || (Array.isArray(one) && one.some(isToken));
  return Array.isArray(said) && said.some(isToken);
}
