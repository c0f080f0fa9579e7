import { Budget, ExcessError } from "../lib/budget.ts";
import { isObject, objectsIn, parseJson, stringOrEmpty } from "../lib/json.ts";
import { cutEvents, maxEventBytes, readEvents } from "../lib/sse.ts";
import { runNow, type Steps } from "../lib/steps.ts";

type Item = Record<string, unknown>;

/** Assembles the pieces of one kind of stream. */
interface Assembly {
  /** Adds the data of one event; false where it belongs to another kind of stream. */
  push(chunk: Item): boolean;
  /** The response so far. */
  result(): Item;
}

/** A tool call under construction. */
interface ToolCall {
  id: unknown;
  type: unknown;
  function?: Item;
  custom?: Item;
}

/** A choice under construction. */
interface Choice {
  text: string;
  /** Fields of the message, besides its content, that arrive in pieces. */
  members: Item;
  toolCalls: Map<number, ToolCall>;
  finishReason: unknown;
}

/** Message fields whose pieces are strings, and those whose pieces contain strings. */
const textMembers = ["reasoning_content", "reasoning", "refusal"];
const heldMembers: Readonly<Record<string, readonly string[]>> = {
  audio: ["transcript"],
  function_call: ["name", "arguments"],
};

/** An object with the strings of a piece appended to its own. */
function joinStrings(known: Item, piece: Item, names: readonly string[]): Item {
  const joined = { ...known };
  for (const name of names) joined[name] = stringOrEmpty(known[name]) + stringOrEmpty(piece[name]);
  return joined;
}

function addMembers({ members }: Choice, delta: Item): void {
  for (const name of textMembers) {
    if (stringOrEmpty(delta[name]) !== "") members[name] = stringOrEmpty(members[name]) + stringOrEmpty(delta[name]);
  }
  for (const [name, inner] of Object.entries(heldMembers)) {
    const [known, piece] = [members[name], delta[name]];
    if (isObject(piece)) members[name] = joinStrings(isObject(known) ? known : {}, piece, inner);
  }
}

function addToolCalls(choice: Choice, pieces: unknown): void {
  if (!Array.isArray(pieces)) return;
  for (const piece of pieces) {
    if (!isObject(piece)) continue;
    const index = Number(piece.index ?? 0);
    const call: ToolCall = choice.toolCalls.get(index) ?? { id: piece.id, type: piece.type };
    const { function: named, custom } = piece;
    if (isObject(custom)) call.custom = joinStrings(call.custom ?? {}, custom, ["name", "input"]);
    else call.function = joinStrings(call.function ?? {}, isObject(named) ? named : {}, ["name", "arguments"]);
    choice.toolCalls.set(index, call);
  }
}

/** Text that content adds under a name, directly or in its parts. */
function saidIn(content: unknown, name: "text" | "thinking"): string {
  if (typeof content === "string") return name === "text" ? content : "";
  return objectsIn(content)
    .map((part) => {
      const { [name]: said } = isObject(part.delta) ? part.delta : part;
      return typeof said === "string" ? said : saidIn(said, "text");
    })
    .join("");
}

/** Adds a choice's text, whichever fields hold it. */
function addSaid(choice: Choice, delta: Item): void {
  const { content, content_blocks: blocks } = delta;
  choice.text += saidIn(content, "text") || saidIn(blocks, "text");
  addMembers(choice, delta);
  if (stringOrEmpty(delta.reasoning_content) + stringOrEmpty(delta.reasoning) !== "") return;
  const thought = saidIn(content, "thinking") || saidIn(blocks, "thinking");
  if (thought !== "") choice.members.reasoning_content = stringOrEmpty(choice.members.reasoning_content) + thought;
}

function addPiece(choices: Map<number, Choice>, piece: unknown): void {
  if (!isObject(piece)) return;
  const index = Number(piece.index ?? 0);
  const choice = choices.get(index) ?? { text: "", members: {}, toolCalls: new Map(), finishReason: null };
  choices.set(index, choice);
  const delta = isObject(piece.delta) ? piece.delta : {};
  choice.text += stringOrEmpty(piece.text);
  addSaid(choice, delta);
  addToolCalls(choice, delta.tool_calls);
  choice.finishReason = piece.finish_reason ?? choice.finishReason;
}

function toChoice(index: number, choice: Choice, isChat: boolean): object {
  const finish_reason = choice.finishReason;
  if (!isChat) return { index, text: choice.text, finish_reason };
  const message = {
    role: "assistant",
    content: choice.text === "" && choice.toolCalls.size > 0 ? null : choice.text,
    ...choice.members,
    ...(choice.toolCalls.size > 0 && { tool_calls: [...choice.toolCalls.values()] }),
  };
  return { index, message, finish_reason };
}

/** Chunks of chat and text completions. */
function assembleChoices(): Assembly {
  const choices = new Map<number, Choice>();
  let head: Item = {};
  let usage: unknown;
  return {
    push(chunk) {
      usage = chunk.usage ?? usage;
      if (!Array.isArray(chunk.choices)) return false;
      if (choices.size === 0) head = chunk;
      for (const piece of chunk.choices) addPiece(choices, piece);
      return true;
    },
    result() {
      const isChat = head.object !== "text_completion";
      return {
        id: head.id,
        object: isChat ? "chat.completion" : "text_completion",
        created: head.created,
        model: head.model,
        choices: [...choices].map(([index, choice]) => toChoice(index, choice, isChat)),
        ...(usage !== undefined && usage !== null && { usage }),
      };
    },
  };
}

const endings = new Set(["response.completed", "response.incomplete", "response.failed"]);

/** Events of the Responses API: the last one holds the response; a cut stream yields the items that arrived. */
function assembleResponse(): Assembly {
  let response: Item = {};
  let isDone = false;
  const items: unknown[] = [];
  let open = "";
  return {
    push(chunk) {
      const type = stringOrEmpty(chunk.type);
      if (!type.startsWith("response.")) return false;
      if (isObject(chunk.response)) response = chunk.response;
      isDone ||= endings.has(type);
      if (type === "response.output_text.delta") open += stringOrEmpty(chunk.delta);
      if (type === "response.output_item.done") {
        items.push(chunk.item);
        open = "";
      }
      return true;
    },
    result() {
      const isKnown = objectsIn(response.output).length > 0 || (items.length === 0 && open === "");
      if (isDone && isKnown) return response;
      const begun = { type: "message", role: "assistant", content: [{ type: "output_text", text: open }] };
      return { ...response, output: open === "" ? items : [...items, begun] };
    },
  };
}

/** Adds an event's delta to a content block, by the type of the delta. */
function addToBlock(block: Item, delta: Item): void {
  const { type, text, thinking, signature, partial_json: json } = delta;
  if (type === "text_delta") block.text = stringOrEmpty(block.text) + stringOrEmpty(text);
  else if (type === "thinking_delta") block.thinking = stringOrEmpty(block.thinking) + stringOrEmpty(thinking);
  else if (type === "signature_delta") block.signature = signature;
  else if (type === "input_json_delta") block.input = stringOrEmpty(block.input) + stringOrEmpty(json);
}

/** A block whose input arrived as JSON text; no input is an empty object. */
function toBlock(block: Item): Item {
  const { input } = block;
  if (typeof input === "string") return { ...block, input: parseJson(input) ?? input };
  return input === undefined && stringOrEmpty(block.type).endsWith("tool_use") ? { ...block, input: {} } : block;
}

/** Events of the Messages API (https://docs.claude.com/en/docs/build-with-claude/streaming). */
function assembleMessage(): Assembly {
  let message: Item | undefined;
  const counts: Item = {};
  const blocks = new Map<number, Item>();
  return {
    push({ type, message: started, index, content_block: begun, delta, usage }) {
      if (type === "message_start" && isObject(started)) message = { ...started };
      if (message === undefined) return false;
      if (type === "content_block_start" && isObject(begun)) {
        const { input, ...rest } = begun;
        blocks.set(Number(index), isObject(input) && Object.keys(input).length > 0 ? { ...begun } : rest);
      }
      const block = blocks.get(Number(index));
      if (type === "content_block_delta" && isObject(delta) && block) addToBlock(block, delta);
      if (type === "message_delta") {
        if (message.usage !== counts && isObject(message.usage)) Object.assign(counts, message.usage);
        if (isObject(usage)) Object.assign(counts, usage);
        Object.assign(message, delta, { usage: counts });
      }
      return true;
    },
    result: () => ({ ...message, content: [...blocks.values()].map(toBlock) }),
  };
}

/** Adds the parts of a Gemini response; adjacent text is merged. */
function addParts(parts: Item[], content: unknown): void {
  const added = isObject(content) && Array.isArray(content.parts) ? content.parts.filter(isObject) : [];
  for (const part of added) {
    const last = parts.at(-1);
    const continues = last?.text !== undefined && part.text !== undefined && last.thought === part.thought;
    if (continues) last.text = stringOrEmpty(last.text) + stringOrEmpty(part.text);
    else parts.push({ ...part });
  }
}

/** Events of a Gemini stream. */
function assembleCandidates(): Assembly {
  const candidates = new Map<number, { head: Item; parts: Item[] }>();
  const last: Item = {};
  return {
    push(chunk) {
      if (!Array.isArray(chunk.candidates)) return false;
      Object.assign(last, chunk);
      for (const candidate of chunk.candidates.filter(isObject)) {
        const index = Number(candidate.index ?? 0);
        const known = candidates.get(index) ?? { head: {}, parts: [] };
        candidates.set(index, known);
        Object.assign(known.head, candidate);
        addParts(known.parts, candidate.content);
      }
      return true;
    },
    result: () => ({
      ...last,
      candidates: [...candidates.values()].map(({ head, parts }) => ({ ...head, content: { role: "model", parts } })),
    }),
  };
}

/** Events of a transcript (https://platform.openai.com/docs/api-reference/audio/transcript-text-delta-event). */
function assembleTranscript(): Assembly {
  let text = "";
  const segments: Item[] = [];
  let last: Item = {};
  return {
    push(event) {
      const { type, delta, text: said } = event;
      if (!stringOrEmpty(type).startsWith("transcript.text.")) return false;
      if (type === "transcript.text.delta") text += stringOrEmpty(delta);
      if (type === "transcript.text.segment") segments.push(event);
      if (type === "transcript.text.done") {
        last = event;
        text = stringOrEmpty(said);
      }
      return true;
    },
    result() {
      const { type: _, ...members } = last;
      return { ...members, text, ...(segments.length > 0 && { segments }) };
    },
  };
}

const kinds = [assembleResponse, assembleChoices, assembleMessage, assembleCandidates, assembleTranscript];

/** Assembles a streamed response from its events, for every API. */
export class StreamAssembler {
  readonly #candidates = kinds.map((create) => create());
  #kind: Assembly | undefined;
  #error: unknown;

  /** Adds the text of complete events, and returns how many. */
  push(text: string): number {
    const events = readEvents(text);
    for (const { data } of events) {
      const chunk = parseJson(data);
      if (!isObject(chunk)) continue;
      this.#error ??= chunk.error;
      if (this.#kind) this.#kind.push(chunk);
      else this.#kind = this.#candidates.find((one) => one.push(chunk));
    }
    return events.length;
  }

  /** The response so far; undefined where no event belonged to a response. */
  result(): Item | undefined {
    const error = this.#error ?? undefined;
    if (!this.#kind) return error === undefined ? undefined : { error };
    return { ...this.#kind.result(), ...(error !== undefined && { error }) };
  }
}

const isStreamText = (text: string) => /^(?:event|data|:)/.test(text);
/** Steps of one event, whatever it holds. */
const stepsPerEvent = 50;
/** Characters that are decoded and parsed in one step. */
const charactersPerStep = 8;

/**
 * The response that a stream adds up to, in pieces.
 *
 * @returns Undefined when the text is not a stream of a known API.
 * @throws {ExcessError} Also for an event that is longer than streams may have.
 */
export function* assembleSteps(text: string, budget: Budget): Steps<object | undefined> {
  if (!isStreamText(text)) return undefined;
  budget.bytes(text.length);
  const assembler = new StreamAssembler();
  for (const piece of cutEvents(text)) {
    if (piece.length > maxEventBytes) throw budget.excess(`an event of more than ${maxEventBytes} bytes`);
    const events = assembler.push(piece);
    budget.step(Math.ceil(piece.length / charactersPerStep) + events * stepsPerEvent);
    if (budget.isDue) yield budget.endPiece();
  }
  return assembler.result();
}

/**
 * The response that a stored stream adds up to, so that log readers see one body.
 *
 * @returns Undefined when the text is not a stream of a known API, or has an event that is too long.
 */
export function assembleStream(text: string): object | undefined {
  if (!isStreamText(text)) return undefined;
  const budget = new Budget({ source: "caller", what: "the stream" });
  try {
    return runNow(assembleSteps(text, budget), budget.bounds.steps);
  } catch (error) {
    if (error instanceof ExcessError) return undefined;
    throw error;
  }
}
