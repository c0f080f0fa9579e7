import * as v from "valibot";
import { isObject, requireJson } from "../../lib/json.ts";
import { failureOfError } from "../core/failures.ts";
import type { ChunkCorrector, ConversionOptions, StreamMapper, UpstreamEvent } from "../core/types.ts";
import { CallIndexes } from "../shared/call-indexes.ts";
import { requireSuccess } from "./answer.ts";
import {
  type AnswerReader,
  isSilent,
  type Members,
  pick,
  plainAnswer,
  plainChoice,
  plainMessage,
  settleUsage,
  toFinishReason,
} from "./members.ts";
import { findMember, namesOf } from "./scan.ts";
import { hasReasoning, StreamedBlocks } from "./thoughts.ts";

const Choice = v.looseObject({
  index: v.nullish(v.number()),
  delta: v.nullish(v.looseObject({})),
  finish_reason: v.nullish(v.string()),
});

const Chunk = v.looseObject({
  id: v.nullish(v.string()),
  created: v.nullish(v.number()),
  choices: v.nullish(v.array(Choice)),
});
type Chunk = v.InferOutput<typeof Chunk>;

/** The usage object, wherever a chunk has it: Groq's is in `x_groq` (https://console.groq.com/docs/api-reference). */
function usageOf(chunk: Chunk): unknown {
  if (isObject(chunk.usage)) return chunk.usage;
  if (isObject(chunk.x_groq) && isObject(chunk.x_groq.usage)) return chunk.x_groq.usage;
  return chunk.choices?.[0]?.usage;
}

/** The holder with a field set; the same object when it already has the value. */
function set(holder: Members, name: string, value: unknown): Members {
  return holder[name] === value ? holder : { ...holder, [name]: value };
}

/** Corrects the choices of one stream. In strict responses, deltas that contain only reasoning are dropped. */
class ChoiceCorrector {
  readonly #reader: AnswerReader;
  readonly #options: ConversionOptions;
  readonly #blocks = new Map<number, StreamedBlocks>();
  readonly #begun = new Set<number>();
  readonly #calls = new Map<number, CallIndexes>();
  /** Whether the first deltas of all choices were already sent elsewhere. */
  hasBegun = false;

  constructor(reader: AnswerReader, options: ConversionOptions) {
    this.#reader = reader;
    this.#options = options;
  }

  /** Whether a choice has produced reasoning, so that its content is repeated in blocks. */
  get hasBlocks(): boolean {
    for (const blocks of this.#blocks.values()) if (blocks.hasBegun) return true;
    return false;
  }

  /** The corrected choice: the same object when it needs no change, undefined when nothing is left of it. */
  correct(choice: Members): Members | undefined {
    const { kind } = this.#reader;
    let made = this.#options.strict ? pick(choice, plainChoice[kind]) : choice;
    const reason = typeof choice.finish_reason === "string" ? choice.finish_reason : null;
    made = set(made, "finish_reason", toFinishReason(reason, this.#reader, this.#options));
    if (kind === "complete") return made;
    // some providers repeat the full message beside each delta
    if ("message" in made) {
      const { message: _, ...rest } = made;
      made = rest;
    }
    const given = isObject(choice.delta) ? choice.delta : {};
    const index = typeof choice.index === "number" ? choice.index : 0;
    let delta = this.#settleCalls(this.#correctDelta(given, index), index);
    if (!this.hasBegun && !this.#begun.has(index)) {
      this.#begun.add(index);
      if (typeof delta.role !== "string") {
        const { role: _, ...rest } = delta;
        delta = { role: "assistant", ...rest };
      }
    } else if (this.#options.strict && made.finish_reason === null && hasReasoning(given)) {
      if (isSilent({ ...delta, role: null })) return undefined;
    }
    return set(made, "delta", delta);
  }

  /** The delta with an index for each of its calls. */
  #settleCalls(delta: Members, index: number): Members {
    if (!Array.isArray(delta.tool_calls)) return delta;
    const indexes = this.#calls.get(index) ?? new CallIndexes();
    this.#calls.set(index, indexes);
    return set(delta, "tool_calls", indexes.settle(delta.tool_calls));
  }

  #correctDelta(delta: Members, index: number): Members {
    if (this.#options.strict) return pick(delta, this.#reader.calledMembers);
    let blocks = this.#blocks.get(index);
    if (blocks === undefined) {
      blocks = new StreamedBlocks();
      this.#blocks.set(index, blocks);
    }
    return blocks.add(delta);
  }
}

/** Maps the events of one stream. */
class ChunkMapper implements StreamMapper {
  readonly #reader: AnswerReader;
  readonly #options: ConversionOptions;
  readonly #choices: ChoiceCorrector;
  #shared: Members | undefined;
  #finished = false;
  #usage: unknown;

  constructor(reader: AnswerReader, options: ConversionOptions) {
    this.#reader = { ...reader, zeros: false };
    this.#options = options;
    this.#choices = new ChoiceCorrector(reader, options);
  }

  map({ event, data }: UpstreamEvent): readonly object[] {
    if (event === "ping") return [];
    const body: unknown = requireJson(data);
    if (isObject(body)) requireSuccess(body, this.#reader);
    if (event === "error") throw failureOfError(body, this.#reader.slug);
    const chunk = v.parse(Chunk, body);
    this.#usage = settleUsage(usageOf(chunk), this.#reader, this.#options.strict) ?? this.#usage;
    const choices = (chunk.choices ?? [])
      .map((choice) => this.#choices.correct(choice))
      .filter((choice) => choice !== undefined);
    if (choices.length === 0) return [];
    if (choices.some(({ finish_reason: reason }) => reason !== null)) this.#finished = true;
    const { usage: _, ...remaining } = this.#options.strict ? pick(chunk, plainAnswer) : chunk;
    // one id and one creation time for the whole stream
    this.#shared ??= { id: chunk.id, created: chunk.created };
    return [{ ...remaining, ...this.#shared, choices }];
  }

  isComplete(): boolean {
    return this.#finished;
  }

  usage(): unknown {
    return this.#usage;
  }
}

/** Creates the mapper of one stream. */
export function createChunkMapper(reader: AnswerReader, options: ConversionOptions): StreamMapper {
  return new ChunkMapper(reader, options);
}

/**
 * Fields inside the values of OpenAI's fields: tool calls, annotations, audio, images, log probabilities and token
 * counts.
 */
const innerNames = [
  "text",
  "type",
  "function",
  "name",
  "arguments",
  "custom",
  "input",
  "url_citation",
  "start_index",
  "end_index",
  "title",
  "url",
  "image_url",
  "detail",
  "b64_json",
  "data",
  "expires_at",
  "transcript",
  "token",
  "logprob",
  "bytes",
  "top_logprobs",
  "tokens",
  "token_logprobs",
  "text_offset",
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
  "prompt_tokens_details",
  "completion_tokens_details",
  "cached_tokens",
  "audio_tokens",
  "cache_write_tokens",
  "reasoning_tokens",
  "accepted_prediction_tokens",
  "rejected_prediction_tokens",
];
const streamedChoice = [...plainChoice.chat].filter((name) => name !== "message");
const plainNames = namesOf([...plainAnswer, ...streamedChoice, ...plainMessage, ...innerNames]);
const reasoningNames = namesOf(["reasoning", "reasoning_content"]);
const callNames = namesOf(["tool_calls"]);

/**
 * Creates a corrector for streams in which only a few chunks need a change. Field names identify these chunks, so the
 * other chunks are not parsed.
 */
export function createChunkCorrector(reader: AnswerReader, options: ConversionOptions): ChunkCorrector {
  const { strict } = options;
  const rules = { ...reader, zeros: false };
  const choices = new ChoiceCorrector(reader, options);
  return {
    concerns: (block) =>
      !choices.hasBegun ||
      choices.hasBlocks ||
      findMember(block, callNames, "listed") ||
      (strict ? findMember(block, plainNames, "other") : findMember(block, reasoningNames, "listed")),
    correct(chunk) {
      requireSuccess(chunk, reader);
      const given: readonly unknown[] = Array.isArray(chunk.choices) ? chunk.choices : [];
      const made = given.map((choice) => (isObject(choice) ? choices.correct(choice) : choice));
      if (given.length > 0) choices.hasBegun = true;
      const remaining = made.filter((choice) => choice !== undefined);
      if (given.length > 0 && remaining.length === 0) return undefined;
      const isSame = remaining.length === given.length && remaining.every((choice, index) => choice === given[index]);
      let corrected = strict ? pick(chunk, plainAnswer) : chunk;
      if (!isSame) corrected = { ...corrected, choices: remaining };
      return isObject(chunk.usage) ? set(corrected, "usage", settleUsage(chunk.usage, rules, strict)) : corrected;
    },
  };
}
