import * as v from "valibot";
import { Reference, Text } from "./control.ts";
import { closedObject, closedVariant, IsoTime, JsonObject, listOf, pageOf } from "./objects.ts";
import { wholeFrom } from "./whole-number.ts";

/** Most variants and checks of a run, and requests that it makes at once. */
const maxVariants = 5;
const maxChecks = 10;
const maxConcurrency = 16;
/** Largest budget in US dollars. */
const maxBudget = 10_000;

/** `stopped`: its budget is used up. */
const runStates = ["running", "completed", "cancelled", "stopped", "failed"] as const;
export type RunState = (typeof runStates)[number];

/** What decides which variant wins: the share of passed checks, the mean cost, the median latency, or ratings. */
const winnerRules = ["pass_rate", "cost", "latency", "rating"] as const;
export type WinnerRule = (typeof winnerRules)[number];

const CheckName = v.optional(
  v.pipe(v.string(), v.regex(/^[\w. -]{1,64}$/, "must be 1 to 64 letters, digits, . _ or -")),
);

/** What examples are answered with. What it does not name is as the example has it. */
const Variant = v.pipe(
  closedObject({
    name: v.optional(Text(64)),
    /** A model: `@provider/model`, an alias or the slug of a saved config. */
    model: v.optional(Text(256)),
    /** The slug of a saved config. */
    config: v.optional(Reference),
    /** A saved prompt: `slug`, `slug@3` or `slug@label`. */
    prompt: v.optional(Text(256)),
  }),
  v.check(
    ({ model, config, prompt }) => model !== undefined || config !== undefined || prompt !== undefined,
    "must have a model, a config or a prompt",
  ),
);

/** What is asked of an answer. */
const EvalCheck = closedVariant("type", [
  /** The answer is what is expected. */
  closedObject({ type: v.literal("exact"), name: CheckName }),
  /** The answer contains `value`, or else what is expected. */
  closedObject({ type: v.literal("contains"), name: CheckName, value: v.optional(Text(4_096)) }),
  /** A piece of JSON in the answer matches the schema. */
  closedObject({
    type: v.literal("json_schema"),
    name: CheckName,
    schema: v.pipe(JsonObject, v.record(v.string(), v.unknown())),
  }),
  /** A saved guardrail lets the answer pass. */
  closedObject({ type: v.literal("guardrail"), name: CheckName, guardrail: Reference }),
  /** A model decides whether the answer meets the criteria. */
  closedObject({ type: v.literal("judge"), name: CheckName, model: Text(256), criteria: Text(8_192) }),
]);
type EvalCheck = v.InferOutput<typeof EvalCheck>;
/** A check as it is stored. */
export type NamedCheck = EvalCheck & { readonly name: string };

const Probability = v.pipe(
  v.number("must be a number"),
  v.minValue(0, "must be at least 0"),
  v.maxValue(1, "must be at most 1"),
);

/** Body of `POST /eval-runs`. */
export const CreateEvalRun = closedObject({
  name: v.optional(Text(255)),
  /** Id or slug. */
  example_set: Reference,
  /** Default: the newest. */
  version: v.optional(wholeFrom(1)),
  variants: v.pipe(v.array(Variant, "must be a list"), v.minLength(1), v.maxLength(maxVariants)),
  checks: v.optional(v.pipe(v.array(EvalCheck, "must be a list"), v.maxLength(maxChecks))),
  budget_usd: v.pipe(v.number("must be a number"), v.gtValue(0, "must be above 0"), v.maxValue(maxBudget)),
  /** Requests at once. Default 4. */
  concurrency: v.optional(wholeFrom(1, maxConcurrency)),
  winner_by: v.optional(v.picklist(winnerRules, `must be one of ${winnerRules.join(", ")}`)),
  /** A variant that passes a smaller share of the checks does not win. Default 0. */
  min_pass_rate: v.optional(Probability),
});
export type CreateEvalRun = v.InferOutput<typeof CreateEvalRun>;

/** Body of `POST /eval-runs/{id}/ratings`. */
export const RateAnswer = closedObject({
  /** Place of the example. */
  example: wholeFrom(0, 1_000),
  variant: Text(64),
  /** 1: good; -1: bad; 0 takes a rating back. */
  rating: v.picklist([-1, 0, 1], "must be -1, 0 or 1"),
});
export type RateAnswer = v.InferOutput<typeof RateAnswer>;

/** Body of `POST /eval-runs/{id}/promote`. */
export const PromoteVariant = closedObject({
  /** Default: the winner. */
  variant: v.optional(Text(64)),
  /** The saved config that gets the model or the content of the variant's config. Not for a variant with a prompt. */
  config: v.optional(Reference),
  /** The target of that config that gets the model. Default: its root. */
  target: v.optional(wholeFrom(0, 1_000)),
});
export type PromoteVariant = v.InferOutput<typeof PromoteVariant>;

/** Response of a change. */
export const SavedEvalRun = v.object({ id: v.string(), object: v.literal("eval_run") });

export const PromotedVariant = v.object({
  id: v.string(),
  object: v.literal("eval_run"),
  variant: v.string(),
  /** What changed: `prompt` or `config`. */
  changed: v.picklist(["prompt", "config"]),
  slug: v.string(),
});

const ShownVariant = v.object({
  name: v.string(),
  model: v.optional(v.string()),
  config: v.optional(v.string()),
  prompt: v.optional(v.string()),
});
export type StoredVariant = v.InferOutput<typeof ShownVariant>;

const ShownCheck = v.looseObject({ type: v.string(), name: v.string() });

/** A run and how far it is. Costs are US cents. */
const EvalRun = v.object({
  id: v.string(),
  object: v.literal("eval_run"),
  workspace_id: v.string(),
  name: v.nullable(v.string()),
  set_id: v.string(),
  version: v.number(),
  variants: v.array(ShownVariant),
  checks: v.array(ShownCheck),
  winner_by: v.picklist(winnerRules),
  min_pass_rate: v.number(),
  budget_usd: v.number(),
  concurrency: v.number(),
  status: v.picklist(runStates),
  /** Why it failed. */
  failure: v.nullable(v.string()),
  /** Answers that it needs, has, and those of them that are errors. */
  total: v.number(),
  done: v.number(),
  failed: v.number(),
  /** Of answers and judges; null where the organisation denies it. */
  cost: v.nullable(v.number()),
  /** The variant that was made the default. */
  promoted: v.nullable(v.string()),
  created_by: v.string(),
  created_at: IsoTime,
  ended_at: v.nullable(IsoTime),
});
export const EvalRunRecord = EvalRun;

export const EvalRunList = listOf(EvalRun);

/** What the answers of a variant add up to. Null: there is nothing to say. */
const VariantTotals = v.object({
  variant: v.string(),
  answers: v.number(),
  errors: v.number(),
  /** US cents. */
  mean_cost: v.nullable(v.number()),
  cost: v.nullable(v.number()),
  /** Milliseconds, of answers that are no errors. */
  p50_latency: v.nullable(v.number()),
  p95_latency: v.nullable(v.number()),
  input_tokens: v.nullable(v.number()),
  output_tokens: v.nullable(v.number()),
  /** Share of decided checks that passed, of all and of each by its name. */
  pass_rate: v.nullable(v.number()),
  checks: v.record(v.string(), v.nullable(v.number())),
  /** Mean of the ratings, and how many there are. */
  rating: v.nullable(v.number()),
  ratings: v.number(),
});
export type VariantTotals = v.InferOutput<typeof VariantTotals>;

/** A run with its totals. */
export const EvalRunDetail = v.object({
  ...EvalRun.entries,
  totals: v.array(VariantTotals),
  /** The variant that wins by the rule; null while it runs, and if none can. */
  winner: v.nullable(v.string()),
});

/** What a check says: null where it could not decide. */
const Verdicts = v.record(v.string(), v.nullable(v.boolean()));
export type Verdicts = v.InferOutput<typeof Verdicts>;

const EvalAnswer = v.object({
  variant: v.string(),
  /** Null until it has answered. */
  status: v.nullable(v.number()),
  text: v.nullable(v.string()),
  error: v.nullable(v.string()),
  /** US cents. */
  cost: v.nullable(v.number()),
  latency_ms: v.nullable(v.number()),
  input_tokens: v.nullable(v.number()),
  output_tokens: v.nullable(v.number()),
  verdicts: Verdicts,
  /** What checks say of their verdicts, by their names. */
  reasons: v.record(v.string(), v.string()),
  rating: v.nullable(v.number()),
  rated_by: v.nullable(v.string()),
  log_id: v.nullable(v.string()),
});
export type EvalAnswer = v.InferOutput<typeof EvalAnswer>;

/** An example with what each variant answered. */
const EvalResult = v.object({
  example: v.number(),
  /** What was asked: the last message, the prompt, or the variables. */
  input: v.string(),
  expected: v.nullable(v.string()),
  metadata: v.record(v.string(), v.string()),
  answers: v.array(EvalAnswer),
});
export type EvalResult = v.InferOutput<typeof EvalResult>;

export const EvalResultPage = pageOf(EvalResult);
