import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import { failureOfError } from "../core/failures.ts";
import type { ConversionOptions } from "../core/types.ts";
import { carryInCalls } from "./details.ts";
import {
  type AnswerReader,
  demandsDetails,
  type Members,
  membersOf,
  pick,
  plainAnswer,
  plainChoice,
  settleUsage,
  toFinishReason,
} from "./members.ts";
import { hasReasoning, withBlocks } from "./thoughts.ts";

const Choice = v.looseObject({
  index: v.nullish(v.number()),
  message: v.nullish(v.looseObject({})),
  finish_reason: v.nullish(v.string()),
});
type Choice = v.InferOutput<typeof Choice>;

const Answer = v.looseObject({ id: v.nullish(v.string()), choices: v.array(Choice) });
type Answer = v.InferOutput<typeof Answer>;

/** Throws the failure a body reports, at the top level or, as OpenRouter does, in a choice. */
export function requireSuccess(body: Members, { slug, check }: AnswerReader): void {
  check?.(body);
  const holders = [body, ...(Array.isArray(body.choices) ? body.choices : [])];
  for (const holder of holders) {
    const error = isObject(holder) ? holder.error : undefined;
    if (isObject(error) || (typeof error === "string" && error !== "")) throw failureOfError(error, slug);
  }
}

function readAnswer(body: unknown, reader: AnswerReader): Answer {
  if (isObject(body)) requireSuccess(body, reader);
  return v.parse(Answer, body);
}

function toAnswer(answer: Answer, reader: AnswerReader, options: ConversionOptions): Answer {
  const choices = answer.choices.map((choice) => {
    const made: Choice = { ...(options.strict ? pick(choice, plainChoice[reader.kind]) : choice) };
    made.finish_reason = toFinishReason(choice.finish_reason, reader, options);
    if (!choice.message || reader.kind !== "chat") return made;
    const { message } = choice;
    made.message = options.strict ? pick(message, membersOf(message, reader)) : withBlocks(message);
    if (options.isConverted && demandsDetails(reader)) made.message = carryInCalls(made.message);
    return made;
  });
  const usage = settleUsage(answer.usage, reader, options.strict);
  const picked = options.strict ? pick(answer, plainAnswer) : answer;
  return { ...picked, choices, ...(usage !== undefined && { usage }) };
}

const holdsOnly = (value: Members, names: ReadonlySet<string>): boolean => {
  for (const name in value) if (!names.has(name)) return false;
  return true;
};

function choiceNeedsNoChange(choice: Choice, reader: AnswerReader, options: ConversionOptions): boolean {
  const { message, finish_reason: reason } = choice;
  if (!options.strict) return !message || !(hasReasoning(message) || "reasoning" in message);
  if (!holdsOnly(choice, plainChoice[reader.kind])) return false;
  if (reason && toFinishReason(reason, reader, options) !== reason) return false;
  return !message || holdsOnly(message, membersOf(message, reader));
}

/** Whether a response can be returned unchanged. */
function needsNoChange(answer: Answer, reader: AnswerReader, options: ConversionOptions): boolean {
  if (options.strict && !holdsOnly(answer, plainAnswer)) return false;
  if (!answer.choices.every((choice) => choiceNeedsNoChange(choice, reader, options))) return false;
  const usage = settleUsage(answer.usage, reader, options.strict);
  return usage === undefined || usage === answer.usage;
}

/** Creates a reader of non-streaming responses. */
export function createAnswerReader(reader: AnswerReader) {
  return (body: unknown, options: ConversionOptions): Answer => toAnswer(readAnswer(body, reader), reader, options);
}

/** As `createAnswerReader`, but returns undefined for responses that need no change. */
export function createAnswerCorrector(reader: AnswerReader) {
  return (body: unknown, options: ConversionOptions): Answer | undefined => {
    const answer = readAnswer(body, reader);
    return needsNoChange(answer, reader, options) ? undefined : toAnswer(answer, reader, options);
  };
}
