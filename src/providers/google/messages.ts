import { InvalidRequestError } from "../../errors.ts";
import { isObject, nonEmptyString, parseJson } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { isReasoningPart, withoutPlaces } from "../../schemas/content-blocks.ts";
import { isDetailSignature } from "../../schemas/reasoning-details.ts";
import type { ConversionOptions } from "../core/types.ts";
import { type MediaPart, toMediaPart } from "./media.ts";
import { traitsOf } from "./model.ts";

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

/** Tool calls of a conversation by id. */
type Calls = ReadonlyMap<string, { name: string; order: number }>;

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
  const extra = isObject(call.extra_content) ? call.extra_content.google : undefined;
  const found = inner.thought_signature ?? call.thought_signature ?? (isObject(extra) ? extra.thought_signature : null);
  // what OpenRouter handed out says nothing to Google
  return isDetailSignature(found) ? undefined : nonEmptyString(found);
}

function argumentsOf(given: unknown): object {
  if (given === undefined || given === null || given === "") return {};
  const value = typeof given === "string" ? parseJson(given) : given;
  if (isObject(value)) return value;
  throw new InvalidRequestError("Cannot send the arguments of a tool call: they are not a JSON object", {
    param: "messages",
    code: "invalid_tool_arguments",
  });
}

function fromCalls(calls: unknown, { drop }: ConversionOptions): Extract<RequestPart, { functionCall: object }>[] {
  if (!Array.isArray(calls)) return [];
  return calls.filter(isObject).flatMap((call) => {
    if (!isObject(call.function)) {
      drop("messages.tool_calls");
      return [];
    }
    const { name, arguments: given } = call.function;
    const signature = signatureOf(call);
    return [
      {
        functionCall: { name: String(name), args: argumentsOf(given) },
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

/** Tool results in the order of their calls: models use the order to distinguish calls of one function. */
function fromResults(results: readonly Message[], calls: Calls, options: ConversionOptions): RequestPart[] {
  const found = results.map((message) => {
    const call = calls.get(String(message.tool_call_id));
    const name = typeof message.name === "string" ? message.name : call?.name;
    const parts = fromContent(message.content, options);
    const output = parts.map((part) => ("text" in part ? part.text : "")).join("");
    const response = { functionResponse: { name: name ?? unknownFunction, response: { output } } };
    return {
      order: call?.order ?? Number.MAX_SAFE_INTEGER,
      response,
      media: parts.filter((part) => !("text" in part)),
    };
  });
  found.sort((one, other) => one.order - other.order);
  return [...found.map(({ response }) => response), ...found.flatMap(({ media }) => media)];
}

function readCalls(messages: readonly Message[]): Calls {
  const calls = new Map<string, { name: string; order: number }>();
  for (const { tool_calls: made } of messages) {
    for (const call of Array.isArray(made) ? made : []) {
      if (!isObject(call) || !isObject(call.function)) continue;
      calls.set(String(call.id), { name: String(call.function.name), order: calls.size });
    }
  }
  return calls;
}

function push(contents: Content[], role: Content["role"], parts: RequestPart[]): void {
  const last = contents.at(-1);
  if (parts.length === 0) return;
  if (last?.role === role) last.parts.push(...parts);
  else contents.push({ role, parts });
}

const isSystem = ({ role }: Message): boolean => role === "system" || role === "developer";
const isResult = ({ role }: Message): boolean => role === "tool" || role === "function";

function toContents(messages: readonly Message[], needsSignatures: boolean, options: ConversionOptions): Content[] {
  const calls = readCalls(messages);
  const contents: Content[] = [];
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index];
    if (!message) break;
    if (isResult(message)) {
      const start = index;
      while (messages[index + 1] && isResult(messages[index + 1] as Message)) index++; // present, as checked above
      push(contents, "user", fromResults(messages.slice(start, index + 1), calls, options));
    } else if (message.role === "assistant") {
      push(contents, "model", fromAssistant(message, needsSignatures, options));
    } else {
      push(contents, "user", fromContent(message.content, options));
    }
  }
  return contents;
}

/**
 * Turns of a conversation. Consecutive turns of one role are merged, and the first turn is the user's.
 *
 * @throws {InvalidRequestError} If a part cannot be sent.
 */
export function toConversation({ model, messages }: ChatRequest, options: ConversionOptions): Conversation {
  const { hasSystemInstruction, generation } = traitsOf(model);
  const system = messages.filter(isSystem).flatMap(({ content }) => fromContent(content, options));
  const contents = toContents(
    messages.filter((message) => !isSystem(message)),
    (generation ?? 0) >= 3,
    options,
  );
  if (system.length > 0 && (!hasSystemInstruction || contents.length === 0)) {
    const [first] = contents;
    if (first?.role === "user") first.parts.unshift(...system);
    else contents.unshift({ role: "user", parts: system });
    return { contents };
  }
  if (contents[0]?.role === "model") contents.unshift({ role: "user", parts: [{ text: " " }] });
  return { contents, ...(system.length > 0 && { systemInstruction: { parts: system } }) };
}
