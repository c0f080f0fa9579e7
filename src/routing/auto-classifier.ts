import { isObject, stringOf } from "../lib/json.ts";
import type { ConfigProblem } from "./problem.ts";

/** What classifies a request that no rule of `auto` matches: a model that decides, or the nearest of labelled examples. */
export interface AutoClassifier {
  kind: "decisions" | "examples";
  /** Slug of a stored provider. */
  provider: string;
  model: string;
  /** Least confidence of a decision, or least cosine of the nearest example, from 0 to 1. Below it the score decides. */
  confidence: number;
  /** What each target is for, by its name; for decisions. */
  criteria: Readonly<Record<string, string>>;
  /** Prompts by the name of the target that they need; for examples. */
  examples: readonly (readonly [target: string, prompt: string])[];
}

type Members = Readonly<Record<string, unknown>>;

const defaultConfidence = 0.2;

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return isObject(value) ? Object.entries(value) : [];
}

/** Reads a classifier from its validated members. */
export function readClassifier(members: Members, note: (problem: ConfigProblem) => void): AutoClassifier | undefined {
  const { kind, confidence } = members;
  const [provider, model] = [stringOf(members.provider), stringOf(members.model)];
  for (const name of ["kind", "provider", "model"]) {
    if (members[name] === undefined) note({ path: name, message: "must be given" });
  }
  const examples = entriesOf(members.examples).flatMap(([target, prompts]) =>
    (Array.isArray(prompts) ? prompts : []).map((prompt) => [target, String(prompt)] as const),
  );
  if (kind === "examples" && examples.length === 0) note({ path: "examples", message: "must be given for this kind" });
  if ((kind !== "decisions" && kind !== "examples") || provider === undefined || model === undefined) return undefined;
  const described = entriesOf(members.criteria).map(([name, text]) => [name, String(text)] as const);
  return {
    kind,
    provider: provider.replace(/^@/, ""),
    model,
    confidence: typeof confidence === "number" ? confidence : defaultConfidence,
    criteria: Object.fromEntries(described),
    examples,
  };
}

/** The names of a classifier that are not those of targets. */
export function findClassifierProblems(
  { criteria, examples }: AutoClassifier,
  names: ReadonlySet<string | undefined>,
): ConfigProblem[] {
  const given = [
    ...Object.keys(criteria).map((name) => ["criteria", name] as const),
    ...examples.map(([name]) => ["examples", name] as const),
  ];
  const wrong = given.filter(([, name]) => !names.has(name)).map(([member, name]) => `${member}.${name}`);
  return [...new Set(wrong)].map((place) => ({
    path: `strategy.classifier.${place}`,
    message: "must be the name of a target",
  }));
}
