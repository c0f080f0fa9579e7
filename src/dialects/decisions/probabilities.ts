import type { DecisionAnswer } from "../../schemas/decisions.ts";
import type { Question } from "./questions.ts";

/**
 * Weights as probabilities: negative weights and anything but numbers count as 0; if all are 0, they are equal.
 *
 * @param weights At least one.
 * @returns As many numbers from 0 to 1, whose sum is 1.
 */
export function normalise(weights: readonly number[]): number[] {
  const kept = weights.map((weight) => (Number.isFinite(weight) && weight > 0 ? weight : 0));
  const greatest = Math.max(...kept);
  if (greatest === 0) return kept.map(() => 1 / kept.length);
  // dividing by the maximum first: the sum of large numbers may be infinite
  const scaled = kept.map((weight) => weight / greatest);
  const sum = scaled.reduce((total, weight) => total + weight, 0);
  return scaled.map((weight) => weight / sum);
}

/** Confidence of a distribution: 1 for a single outcome, 0 for a uniform one (1 - H(p) / ln N). */
export function confidenceOf(probabilities: readonly number[]): number {
  if (probabilities.length < 2) return 1;
  const entropy = probabilities.reduce((sum, p) => (p > 0 ? sum - p * Math.log(p) : sum), 0);
  return Math.min(Math.max(1 - entropy / Math.log(probabilities.length), 0), 1);
}

/** Index of the greatest number, the first of several. */
function firstGreatest(numbers: readonly number[]): number {
  return numbers.indexOf(Math.max(...numbers));
}

/**
 * The answer to a question in the response.
 *
 * @param weights One per outcome, in order.
 */
export function toDecisionAnswer({ type, outcomes }: Question, weights: readonly number[]): DecisionAnswer {
  const values = normalise(weights);
  if (type === "noul") return { type, noul: values[0] ?? 0 };
  const probabilities = Object.fromEntries(outcomes.map(({ name }, index) => [name, values[index] ?? 0]));
  const confidence = confidenceOf(values);
  if (type === "choice") {
    const choice = outcomes[firstGreatest(values)]?.name ?? "";
    return { type, choice, probabilities, confidence };
  }
  const score = values.reduce((sum, p, index) => sum + index * p, 0);
  const legend = Object.fromEntries(outcomes.map(({ name, description }) => [name, description ?? ""]));
  return { type, score, probabilities, confidence, legend };
}
