import * as v from "valibot";
import { isObject, parseJson } from "../../lib/json.ts";
import { normalise } from "./probabilities.ts";
import { keyOf } from "./prompt.ts";
import type { Question } from "./questions.ts";

const text = v.nullish(v.string());
const Candidate = v.looseObject({ token: v.string(), logprob: v.number() });
const Token = v.looseObject({ ...Candidate.entries, top_logprobs: v.nullish(v.array(Candidate)) });

/** The fields of a chat completion that are read. */
const ChatAnswer = v.looseObject({
  model: text,
  choices: v.array(
    v.looseObject({
      message: v.nullish(
        v.looseObject({ content: v.nullish(v.union([v.string(), v.array(v.looseObject({ text }))])) }),
      ),
      logprobs: v.nullish(v.looseObject({ content: v.nullish(v.array(Token)) })),
    }),
  ),
  usage: v.optional(v.unknown()),
});
export type ChatAnswer = v.InferOutput<typeof ChatAnswer>;

/** Reads a chat completion; undefined for anything else. */
export function readChatAnswer(body: unknown): ChatAnswer | undefined {
  const result = v.safeParse(ChatAnswer, body);
  return result.success ? result.output : undefined;
}

/** Text of the first choice. */
function saidBy({ choices }: ChatAnswer): string {
  const content = choices[0]?.message?.content;
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("");
}

/** The JSON object in a text, which may surround it with words or a code block. */
function findObject(said: string): Record<string, unknown> | undefined {
  const whole = parseJson(said);
  if (isObject(whole)) return whole;
  const inner = parseJson(said.slice(said.indexOf("{"), said.lastIndexOf("}") + 1));
  return isObject(inner) ? inner : undefined;
}

function own(object: unknown, name: string): unknown {
  return isObject(object) && Object.hasOwn(object, name) ? object[name] : undefined;
}

/**
 * Weights of the outcomes of each answered question, by its name; unreadable answers are left out.
 *
 * @param questions In the order they were asked.
 */
export function readDistributions(answer: ChatAnswer, questions: readonly Question[]): Map<string, number[]> {
  const object = findObject(saidBy(answer));
  const found = new Map<string, number[]>();
  for (const [index, { name, outcomes }] of questions.entries()) {
    const stated = own(object, keyOf(index));
    const weights = outcomes.map(({ label }) => own(stated, label));
    const numbers = weights.map((weight) => (typeof weight === "number" && Number.isFinite(weight) ? weight : 0));
    if (weights.some((weight) => typeof weight === "number" && Number.isFinite(weight))) found.set(name, numbers);
  }
  return found;
}

/** Whether a completion has the logprobs of its first token. */
export function hasLogprobs({ choices }: ChatAnswer): boolean {
  return (choices[0]?.logprobs?.content ?? []).length > 0;
}

/** Least probability of the labels together; below it the first token is not an answer. */
const leastLabelled = 0.01;
/** Weight of outcomes whose label is not among the candidates. */
const floor = 1e-6;

/** Weights of a question's outcomes from the candidates for the first token; undefined where hardly any is a label. */
export function readLabelWeights({ choices }: ChatAnswer, { outcomes }: Question): number[] | undefined {
  const [first] = choices[0]?.logprobs?.content ?? [];
  if (!first) return undefined;
  const candidates = first.top_logprobs && first.top_logprobs.length > 0 ? first.top_logprobs : [first];
  const weights = new Map<string, number>();
  for (const { token, logprob } of candidates) {
    // tokens may include a leading space or punctuation
    const label = token.replace(/[^A-Za-z]/g, "");
    weights.set(label, (weights.get(label) ?? 0) + Math.exp(logprob));
  }
  const found = outcomes.map(({ label }) => weights.get(label) ?? 0);
  if (!(found.reduce((sum, weight) => sum + weight, 0) >= leastLabelled)) return undefined;
  return normalise(found).map((weight) => Math.max(weight, floor));
}
