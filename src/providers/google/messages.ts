import { isObject, nonEmptyString } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { isReasoningPart, withoutPlaces } from "../../schemas/content-blocks.ts";
import { readExtraSignature } from "../../schemas/extra-content.ts";
import { isDetailSignature } from "../../schemas/reasoning-details.ts";
import { readCallArguments } from "../core/fit-messages.ts";
import type { ConversionOptions } from "../core/types.ts";
import { geminiFactsOf } from "./family.ts";
import { type MediaPart, toMediaPart } from "./media.ts";

/** One part of a turn (https://ai.google.dev/api/caching#Part). */
type RequestPart =
  | (MediaPart & { thoughtSignature?: string })
  | { executableCode: object; thoughtSignature?: string }
  | { codeExecutionResult: object; thoughtSignature?: string }
  | { text: string; thought?: true; thoughtSignature?: string }
  | { functionCall: { name: string; args: object }; thoughtSignature?: string }
  | { functionResponse: { name: string; response: object } };

/** One turn of a conversation. */
interface Content {
  role: "user" | "model";
  parts: RequestPart[];
}

/** A conversation, with the system instructions apart. */
interface Conversation {
  contents: Content[];
  systemInstruction?: { parts: RequestPart[] };
}

type Message = ChatRequest["messages"][number];

/**
 * Placeholder for a missing signature, for models that require one
 * (https://ai.google.dev/gemini-api/docs/thought-signatures).
 */
export const noSignature = "skip_thought_signature_validator";
/** Function name to use for a result whose call is not part of the conversation. */
const unknownFunction = "unknown_function";

/** Tool calls of a conversation by id, up to the message that is read. */
class Calls {
  readonly #known = new Map<string, { name: string; order: number }>();
  #count = 0;

  /** Notes the calls of a message. An id that repeats counts for its last call. */
  note({ tool_calls: made }: Message): void {
    for (const call of Array.isArray(made) ? made : []) {
      if (!isObject(call) || !isObject(call.function)) continue;
      this.#known.set(String(call.id), { name: String(call.function.name), order: this.#count++ });
    }
  }

  find(id: unknown): { name: string; order: number } | undefined {
    return this.#known.get(String(id));
  }
}

/** The signature of a part, as a field to add to its counterpart. */
function signedBy({ thought_signature: signature }: Record<string, unknown>): { thoughtSignature?: string } {
  return typeof signature === "string" && signature !== "" ? { thoughtSignature: signature } : {};
}

/** Executed code of an earlier response, and its result. */
function fromCode(part: Record<string, unknown>): RequestPart | undefined {
  const { executable_code: code, code_execution_result: result } = part;
  if (isObject(code)) return { executableCode: code, ...signedBy(part) };
  return isObject(result) ? { codeExecutionResult: result, ...signedBy(part) } : undefined;
}

function fromPart(part: unknown, { drop }: ConversionOptions): RequestPart[] {
  if (!isObject(part)) return [];
  const said = part.type === "refusal" ? part.refusal : part.text;
  if ((part.type === "text" || part.type === "refusal") && typeof said === "string") {
    const signed = signedBy(part);
    return said === "" && !signed.thoughtSignature ? [] : [{ text: said, ...signed }];
  }
  if (isReasoningPart(part)) return fromReasoning(part, drop);
  // images from the reasoning are not part of the conversation
  if (part.thought === true) return [];
  const code = fromCode(part);
  if (code) return [code];
  const media = toMediaPart(part);
  if (!media) drop("messages.content");
  return media ? [{ ...media, ...signedBy(part) }] : [];
}

/** Reasoning is sent back only with a signature of this model family; the field that has it identifies the family. */
function fromReasoning(part: Record<string, unknown>, drop: (member: string) => void): RequestPart[] {
  const { thinking, thought_signature: signature } = part;
  if (typeof signature === "string" && typeof thinking === "string") {
    return [{ text: thinking, thought: true, thoughtSignature: signature }];
  }
  if (part.signature !== undefined || part.data !== undefined) drop("messages.thinking");
  return [];
}

function fromContent(content: unknown, options: ConversionOptions): RequestPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ text: content }];
  return Array.isArray(content) ? content.flatMap((part) => fromPart(part, options)) : [];
}

function signatureOf(call: Record<string, unknown>): string | undefined {
  const inner = isObject(call.function) ? call.function : {};
  const found = inner.thought_signature ?? call.thought_signature ?? readExtraSignature(call);
  // what OpenRouter handed out says nothing to Google
  return isDetailSignature(found) ? undefined : nonEmptyString(found);
}

function fromCalls(calls: unknown, options: ConversionOptions): Extract<RequestPart, { functionCall: object }>[] {
  if (!Array.isArray(calls)) return [];
  return calls.filter(isObject).flatMap((call) => {
    if (!isObject(call.function)) {
      options.drop("messages.tool_calls");
      return [];
    }
    const { name, arguments: given } = call.function;
    const signature = signatureOf(call);
    return [
      {
        functionCall: { name: String(name), args: readCallArguments(given, options) },
        ...(signature !== undefined && { thoughtSignature: signature }),
      },
    ];
  });
}

function fromAssistant(message: Message, needsSignatures: boolean, options: ConversionOptions): RequestPart[] {
  const { content_blocks: blocks, content } = message;
  const calls = fromCalls(message.tool_calls, options);
  // the first call of a turn has the signature
  const [first] = calls;
  if (first && needsSignatures) first.thoughtSignature ??= noSignature;
  return [...fromContent(Array.isArray(blocks) ? withoutPlaces(blocks) : content, options), ...calls];
}

/** A tool result, and the place of its call. */
interface Result {
  order: number;
  part: RequestPart;
}

/** Tool results, and the media they show: a turn of results takes nothing else. */
function fromResult(
  message: Message,
  calls: Calls,
  options: ConversionOptions,
): { result: Result; media: RequestPart[] } {
  const call = calls.find(message.tool_call_id);
  const name = typeof message.name === "string" ? message.name : call?.name;
  const parts = fromContent(message.content, options);
  const output = parts.map((part) => ("text" in part ? part.text : "")).join("");
  return {
    result: {
      order: call?.order ?? Number.MAX_SAFE_INTEGER,
      part: { functionResponse: { name: name ?? unknownFunction, response: { output } } },
    },
    media: parts.filter((part) => !("text" in part)),
  };
}

const isSystem = ({ role }: Message): boolean => role === "system" || role === "developer";
const isResult = ({ role }: Message): boolean => role === "tool" || role === "function";

/** The turns of a conversation: one of each role, and results of calls in a separate turn right after the calls. */
class Turns {
  readonly contents: Content[] = [];
  /** Results of the last calls, in the order of their calls: models use the order to distinguish calls of one function. */
  #results: Result[] = [];
  /** The turn that holds them. */
  #ofResults: Content | undefined;

  add(role: Content["role"], parts: RequestPart[]): void {
    if (parts.length === 0) return;
    const last = this.contents.at(-1);
    if (last?.role === role && last !== this.#ofResults) last.parts.push(...parts);
    else this.contents.push({ role, parts });
    if (role === "model") this.#ofResults = undefined;
  }

  addResult(result: Result): void {
    if (!this.#ofResults) {
      this.#results = [];
      this.#ofResults = { role: "user", parts: [] };
      const calls = this.contents.findLastIndex(({ role }) => role === "model");
      this.contents.splice(calls < 0 ? this.contents.length : calls + 1, 0, this.#ofResults);
    }
    const place = this.#results.findLastIndex(({ order }) => order <= result.order) + 1;
    this.#results.splice(place, 0, result);
    this.#ofResults.parts.splice(place, 0, result.part);
  }
}

function toContents(messages: readonly Message[], needsSignatures: boolean, options: ConversionOptions): Content[] {
  const calls = new Calls();
  const turns = new Turns();
  for (const message of messages) {
    if (isResult(message)) {
      const { result, media } = fromResult(message, calls, options);
      turns.addResult(result);
      turns.add("user", media);
    } else if (message.role === "assistant") {
      calls.note(message);
      turns.add("model", fromAssistant(message, needsSignatures, options));
    } else {
      turns.add("user", fromContent(message.content, options));
    }
  }
  return turns.contents;
}

/**
 * Turns of a conversation, the first of them the user's. Instructions at the beginning stand apart; later ones stay at their
 * place as text of the user, so that a request begins as the one before it did.
 *
 * @throws {InvalidRequestError} If a part cannot be sent.
 */
export function toConversation({ model, messages }: ChatRequest, options: ConversionOptions): Conversation {
  const { takesInstructions = true, needsCallSignatures = false } = geminiFactsOf(model, options);
  const begin = messages.findIndex((message) => !isSystem(message));
  const instructions = begin < 0 ? messages : messages.slice(0, begin);
  const system = instructions.flatMap(({ content }) => fromContent(content, options));
  const contents = toContents(begin < 0 ? [] : messages.slice(begin), needsCallSignatures, options);
  if (system.length > 0 && (!takesInstructions || contents.length === 0)) {
    const [first] = contents;
    if (first?.role === "user") first.parts.unshift(...system);
    else contents.unshift({ role: "user", parts: system });
    return { contents };
  }
  if (contents[0]?.role === "model") contents.unshift({ role: "user", parts: [{ text: " " }] });
  return { contents, ...(system.length > 0 && { systemInstruction: { parts: system } }) };
}
