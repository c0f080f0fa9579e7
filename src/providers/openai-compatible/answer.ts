import * as v from "valibot";
import { UpstreamError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { ConversionOptions, StreamMapper, UpstreamEvent } from "../types.ts";
import { normaliseUsage, type UsageRules } from "./usage.ts";

/** How answers of a provider differ from OpenAI's. */
export interface AnswerRules extends UsageRules {
  /** OpenAI's words for reasons to finish that only this provider has. */
  finishReasons?: Readonly<Record<string, string>>;
  /** Throws where a body that came with status 200 tells of a failure. */
  check?(body: Record<string, unknown>): void;
}

/** Whose answers are read, and how. */
export interface AnswerReader extends AnswerRules {
  slug: string;
  /** Chat answers hold messages, completions texts. */
  kind: "chat" | "complete";
}

const Choice = v.looseObject({
  index: v.nullish(v.number()),
  message: v.nullish(v.looseObject({})),
  delta: v.nullish(v.looseObject({})),
  finish_reason: v.nullish(v.string()),
});
type Choice = v.InferOutput<typeof Choice>;

const Answer = v.looseObject({ id: v.nullish(v.string()), choices: v.array(Choice) });

const Chunk = v.looseObject({
  id: v.nullish(v.string()),
  created: v.nullish(v.number()),
  choices: v.nullish(v.array(Choice)),
});
type Chunk = v.InferOutput<typeof Chunk>;

type Members = Record<string, unknown>;

const plainAnswer = new Set([
  "id",
  "object",
  "created",
  "model",
  "choices",
  "usage",
  "system_fingerprint",
  "service_tier",
]);
const plainChoice = {
  chat: new Set(["index", "message", "delta", "logprobs", "finish_reason"]),
  complete: new Set(["index", "text", "logprobs", "finish_reason"]),
};
// images are content, though OpenAI has no such member
const plainMessage = new Set([
  ...["role", "content", "refusal", "tool_calls", "function_call", "annotations", "audio", "images"],
]);

const commonReasons: Readonly<Record<string, string>> = {
  stop: "stop",
  length: "length",
  tool_calls: "tool_calls",
  function_call: "function_call",
  content_filter: "content_filter",
  model_length: "length",
  max_tokens: "length",
};

function pick(value: Members, names: ReadonlySet<string>): Members {
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.has(name)));
}

/** A message or a part of one: what the model thought has one name, and is kept from plain answers. */
function toMessage(message: Members, { strict }: ConversionOptions): Members {
  if (strict) return pick(message, plainMessage);
  const { reasoning, ...rest } = message;
  if (typeof reasoning === "string" && typeof rest.reasoning_content !== "string") rest.reasoning_content = reasoning;
  return rest;
}

function toFinishReason(reason: string | null | undefined, rules: AnswerRules, { strict }: ConversionOptions) {
  if (reason === null || reason === undefined || !strict) return reason ?? null;
  return rules.finishReasons?.[reason] ?? commonReasons[reason] ?? "stop";
}

function toChoice(choice: Choice, reader: AnswerReader, options: ConversionOptions): Members {
  const kept: Members = options.strict ? pick(choice, plainChoice[reader.kind]) : { ...choice };
  kept.finish_reason = toFinishReason(choice.finish_reason, reader, options);
  return kept;
}

const statusOfCode: Readonly<Record<string, number>> = {
  rate_limit_exceeded: 429,
  rate_limit_error: 429,
  insufficient_quota: 429,
  overloaded_error: 529,
  invalid_request_error: 400,
};

/** The failure an event of a stream tells of. */
function failureOf(error: unknown, slug: string): UpstreamError {
  if (!isObject(error)) return new UpstreamError(502, `${slug} error: ${String(error)}`, { provider: slug });
  const { message, code, type } = error;
  const number = Number(code);
  const isStatus = Number.isInteger(number) && number >= 400 && number <= 599;
  const status = isStatus ? number : (statusOfCode[String(code)] ?? statusOfCode[String(type)] ?? 502);
  const text = typeof message === "string" ? message : JSON.stringify(error);
  return new UpstreamError(status, `${slug} error: ${text}`, {
    provider: slug,
    ...(typeof type === "string" && { type }),
    ...((typeof code === "string" || typeof code === "number") && { code: String(code) }),
  });
}

/** Throws the failure a body tells of, at its top or, as OpenRouter does, in a choice. */
function requireSuccess(body: Members, { slug, check }: AnswerReader): void {
  check?.(body);
  const holders = [body, ...(Array.isArray(body.choices) ? body.choices : [])];
  for (const holder of holders) {
    const error = isObject(holder) ? holder.error : undefined;
    if (isObject(error) || (typeof error === "string" && error !== "")) throw failureOf(error, slug);
  }
}

/** Makes what reads whole answers. */
export function createAnswerReader(reader: AnswerReader) {
  return (body: unknown, options: ConversionOptions) => {
    if (isObject(body)) requireSuccess(body, reader);
    const answer = v.parse(Answer, body);
    const choices = answer.choices.map((choice) => {
      const made = toChoice(choice, reader, options);
      if (choice.message && reader.kind === "chat") made.message = toMessage(choice.message, options);
      return made;
    });
    const usage = normaliseUsage(answer.usage, reader, options.strict);
    const kept = options.strict ? pick(answer, plainAnswer) : answer;
    return { ...kept, choices, ...(usage && { usage }) };
  };
}

/** Usage in whichever place of a chunk: Groq's lies in `x_groq` (https://console.groq.com/docs/api-reference). */
function usageOf(chunk: Chunk): unknown {
  if (isObject(chunk.usage)) return chunk.usage;
  if (isObject(chunk.x_groq) && isObject(chunk.x_groq.usage)) return chunk.x_groq.usage;
  return chunk.choices?.[0]?.usage;
}

/** Whether a part of a message says nothing a client would notice. */
const isSilent = (delta: Members): boolean => Object.values(delta).every((value) => value === null || value === "");

/** Reads the events of one stream; in plain answers the parts that held thoughts alone are left out. */
class ChunkMapper implements StreamMapper {
  readonly #reader: AnswerReader;
  readonly #options: ConversionOptions;
  readonly #begun = new Set<number>();
  #shared: Members | undefined;
  #finished = false;
  #usage: unknown;

  constructor(reader: AnswerReader, options: ConversionOptions) {
    this.#reader = reader;
    this.#options = options;
  }

  map({ event, data }: UpstreamEvent): readonly object[] {
    if (event === "ping") return [];
    const body: unknown = JSON.parse(data);
    if (isObject(body)) requireSuccess(body, this.#reader);
    if (event === "error") throw failureOf(body, this.#reader.slug);
    const chunk = v.parse(Chunk, body);
    this.#usage =
      normaliseUsage(usageOf(chunk), { ...this.#reader, zeros: false }, this.#options.strict) ?? this.#usage;
    const choices = (chunk.choices ?? [])
      .map((choice) => this.#mapChoice(choice))
      .filter((choice) => choice !== undefined);
    if (choices.length === 0) return [];
    const { usage: _, ...kept } = this.#options.strict ? pick(chunk, plainAnswer) : chunk;
    // one id and one time for the whole stream
    this.#shared ??= { id: chunk.id, created: chunk.created };
    return [{ ...kept, ...this.#shared, choices }];
  }

  isComplete(): boolean {
    return this.#finished;
  }

  usage(): unknown {
    return this.#usage;
  }

  #mapChoice(choice: Choice): Members | undefined {
    const made = toChoice(choice, this.#reader, this.#options);
    if (made.finish_reason !== null) this.#finished = true;
    if (this.#reader.kind === "complete") return made;
    // some repeat all that was said so far beside each part
    delete made.message;
    const index = choice.index ?? 0;
    const delta = toMessage(choice.delta ?? {}, this.#options);
    if (!this.#begun.has(index)) {
      this.#begun.add(index);
      made.delta = { role: "assistant", ...delta };
      return made;
    }
    const isSpare = this.#options.strict && made.finish_reason === null && hasThought(choice.delta);
    if (isSpare && isSilent({ ...delta, role: null })) return undefined;
    made.delta = delta;
    return made;
  }
}

const hasThought = (delta: Members | null | undefined): boolean =>
  typeof delta?.reasoning_content === "string" || typeof delta?.reasoning === "string";

/** Makes what maps one stream. */
export function createChunkMapper(reader: AnswerReader, options: ConversionOptions): StreamMapper {
  return new ChunkMapper(reader, options);
}
