import * as v from "valibot";
import { isObject, parseJson } from "../../lib/json.ts";
import { doneEvent, encodeEvent } from "../../lib/sse.ts";
import { defineProvider } from "../core/define.ts";
import { headerInteger } from "../core/settings.ts";
import type { LocalRequest } from "../core/types.ts";

const Settings = v.object({
  status: v.optional(headerInteger(200, 599)),
  delay_ms: v.optional(headerInteger(0, 3_600_000)),
  chunks: v.optional(headerInteger(1, 10_000)),
});
type Settings = v.InferOutput<typeof Settings>;

const dimensions = 8;

/** The last user text of a chat; empty when there is no user text. */
function lastUserText(messages: unknown): string {
  if (!Array.isArray(messages)) return "";
  const last = messages.findLast((message) => isObject(message) && message.role === "user");
  const content: unknown = isObject(last) ? last.content : undefined;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (isObject(part) && typeof part.text === "string" ? part.text : "")).join("");
}

const blank = /\s/;

/** Number of words in a text, which this provider counts as tokens. */
function countWords(text: string): number {
  let count = 0;
  let isInWord = false;
  // character by character: splitting a long text into an array takes seconds and far more memory
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    const isSpace = code < 0x80 ? code === 0x20 || (code >= 0x09 && code <= 0x0d) : blank.test(text.charAt(index));
    if (!isSpace && !isInWord) count++;
    isInWord = !isSpace;
  }
  return count;
}

function usageOf(input: string, output: string) {
  const prompt_tokens = countWords(input);
  const completion_tokens = countWords(output);
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

/** Splits a text into `count` pieces, or into words, lazily and without splitting characters. */
function* cut(text: string, count: number | undefined): Generator<string> {
  if (count === undefined) {
    for (const [piece] of text.matchAll(/\S+\s*|\s+/g)) yield piece;
    if (text === "") yield text;
    return;
  }
  let start = 0;
  for (let index = 1; index <= count; index++) {
    let end = Math.floor((index * text.length) / count);
    // inside a surrogate pair
    if (end > start && (text.codePointAt(end - 1) ?? 0) > 0xffff) end++;
    yield text.slice(start, end);
    start = Math.max(start, end);
  }
}

/** The chat and text variants of a completion. */
interface CompletionShape {
  id: string;
  object: string;
  chunkObject: string;
  choice(text: string): object;
  piece(text: string, first: boolean): object;
}

const chatShape: CompletionShape = {
  id: "chatcmpl-echo",
  object: "chat.completion",
  chunkObject: "chat.completion.chunk",
  choice: (content) => ({ message: { role: "assistant", content, refusal: null } }),
  piece: (content, first) => ({ delta: first ? { role: "assistant", content } : { content } }),
};

const textShape: CompletionShape = {
  id: "cmpl-echo",
  object: "text_completion",
  chunkObject: "text_completion",
  choice: (text) => ({ text }),
  piece: (text) => ({ text }),
};

/** What a response is made from. */
interface Completion {
  shape: CompletionShape;
  model: unknown;
  text: string;
  usage: object;
  /** Unix seconds. */
  created: number;
}

function toAnswer({ shape, model, text, usage, created }: Completion): Response {
  const choice = { index: 0, ...shape.choice(text), logprobs: null, finish_reason: "stop" };
  return Response.json({ id: shape.id, object: shape.object, created, model, choices: [choice], usage });
}

/** A stream of the text in pieces, spread evenly over the delay. */
function toStream(
  { shape, model, text, usage, created }: Completion,
  settings: Settings,
  signal: AbortSignal,
): Response {
  const pieces = cut(text, settings.chunks);
  const pauseMs = (settings.delay_ms ?? 0) / (settings.chunks ?? Math.max(1, countWords(text)));
  const encoder = new TextEncoder();
  const head = { id: shape.id, object: shape.chunkObject, created, model };
  const choice = (part: object, finish_reason: string | null) => ({ index: 0, ...part, logprobs: null, finish_reason });
  let isFirst = true;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = pieces.next();
      if (!piece.done) {
        if (pauseMs > 0) await pause(pauseMs, signal);
        const part = shape.piece(piece.value, isFirst);
        controller.enqueue(encoder.encode(encodeEvent({ ...head, choices: [choice(part, null)] })));
        isFirst = false;
        return;
      }
      const last = { ...shape.piece("", false), ...(shape === chatShape && { delta: {} }) };
      const end = encodeEvent({ ...head, choices: [choice(last, "stop")] });
      controller.enqueue(encoder.encode(end + encodeEvent({ ...head, choices: [], usage }) + doneEvent));
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

function toEmbeddings(request: Record<string, unknown>): Response {
  const input: unknown = request.input;
  const single = typeof input === "string" || (Array.isArray(input) && typeof input[0] === "number");
  const items: unknown[] = single || !Array.isArray(input) ? [input] : input;
  const data = items.map((item, index) => ({ object: "embedding", index, embedding: embed(JSON.stringify(item)) }));
  const prompt_tokens = items.reduce<number>((sum, item) => sum + countWords(JSON.stringify(item)), 0);
  return Response.json({
    object: "list",
    data,
    model: request.model,
    usage: { prompt_tokens, total_tokens: prompt_tokens },
  });
}

/** A vector of length 1 that depends only on the text (FNV-1a with one seed per dimension). */
function embed(text: string): number[] {
  const raw = Array.from({ length: dimensions }, (_, seed) => {
    let hash = 0x811c9dc5 ^ seed;
    for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
    return (hash >>> 0) / 2 ** 31 - 1;
  });
  const length = Math.hypot(...raw) || 1;
  return raw.map((value) => value / length);
}

/** Waits; throws the signal's reason when it is aborted. */
function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, delayMs);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

function toFailure(status: number): Response {
  // a response with this status has no body (RFC 9110, section 15.4.5)
  if (status === 304) return new Response(null, { status });
  const error = { message: `echo was asked to return ${status}`, type: "echo_error", param: null, code: null };
  return Response.json({ error }, { status });
}

const secondsOf = ({ now }: LocalRequest): number => Math.floor(now / 1000);

/** The chat or the completion that a request asks for. */
function complete(call: LocalRequest, request: Record<string, unknown>): Completion {
  const { prompt, model } = request;
  const isChat = call.path === "/chat/completions";
  const asText = () => (typeof prompt === "string" ? prompt : JSON.stringify(prompt));
  const text = isChat ? lastUserText(request.messages) : asText();
  return { shape: isChat ? chatShape : textShape, model, text, usage: usageOf(text, text), created: secondsOf(call) };
}

async function answer(call: LocalRequest, settings: Settings): Promise<Response> {
  const parsed = parseJson(call.body);
  const request = isObject(parsed) ? parsed : {};
  const streamed = request.stream === true && (settings.status ?? 200) < 300;
  if (settings.delay_ms !== undefined && !streamed) await pause(settings.delay_ms, call.signal);
  if (settings.status !== undefined && settings.status >= 300) return toFailure(settings.status);
  if (call.path === "/models") {
    const model = { id: "echo-1", object: "model", created: secondsOf(call), owned_by: "echo" };
    return Response.json({ object: "list", data: [model] });
  }
  if (call.path === "/embeddings") return toEmbeddings(request);
  const completion = complete(call, request);
  return streamed ? toStream(completion, settings, call.signal) : toAnswer(completion);
}

/** A provider without a network: it echoes the request, or fails, waits or streams as its headers ask. */
export const echo = defineProvider({
  slug: "echo",
  keyless: true,
  free: true,
  settings: { prefix: "echo", schema: Settings, open: true },
  baseUrl: "",
  authenticate: () => ({}),
  operations: {
    chat: { path: () => "/chat/completions" },
    complete: { path: () => "/completions" },
    embed: { path: () => "/embeddings" },
    models: { method: "GET", path: () => "/models" },
  },
  local: answer,
});
