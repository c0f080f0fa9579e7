import assert from "node:assert/strict";
import * as v from "valibot";
import { type Hooks, type KnownChecks, readHooks } from "../../src/guardrails/read-hooks.ts";
import { noSavedGuardrails, resolveHooks } from "../../src/guardrails/resolve.ts";
import {
  type AnyCheck,
  beforeOnly,
  bothPhases,
  type Check,
  CheckError,
  type Hook,
} from "../../src/guardrails/types.ts";

/** What a check of these tests is told to do. */
const Orders = v.object({
  pass: v.optional(v.boolean(), true),
  data: v.optional(v.record(v.string(), v.unknown())),
  /** It cannot decide. */
  error: v.optional(v.string()),
  verdict: v.optional(v.boolean()),
  /** It breaks. */
  throws: v.optional(v.boolean(), false),
  skips: v.optional(v.boolean(), false),
  /** Put behind each text. */
  suffix: v.optional(v.string()),
  /** Member of the body that is set. */
  member: v.optional(v.string()),
  headers: v.optional(v.record(v.string(), v.string())),
  /** Milliseconds before it answers. */
  waits: v.optional(v.number(), 0),
  /** It looks at no text. */
  isBlind: v.optional(v.boolean(), false),
});
export type Orders = v.InferOutput<typeof Orders>;

/** A check that does as it is told, and tells what it saw. */
const obey: Check<Orders> = {
  id: "default.obey",
  aliases: ["default.follow"],
  phases: bothPhases,
  parameters: Orders,
  changes: ({ suffix, member }) => suffix !== undefined || member !== undefined,
  async run(input, orders) {
    await new Promise((done) => setTimeout(done, orders.waits));
    if (orders.throws) throw new Error("secret detail");
    const { verdict, error } = orders;
    if (error !== undefined)
      throw new CheckError(error, { ...(verdict !== undefined && { verdict }), data: { tried: 1 } });
    const { suffix, member, pass, skips: isSkipped, headers = {} } = orders;
    const seen = orders.isBlind ? {} : { saw: input.text.slice(0, 40), length: input.text.length };
    const { isTransformed } = input.response ?? input.request;
    return {
      pass,
      isSkipped,
      headers,
      data: { ...seen, isTransformed, ...orders.data },
      ...(suffix !== undefined && { texts: input.texts.map((text) => `${text}${suffix}`) }),
      ...(member !== undefined && { body: { ...(input.response ?? input.request).body, [member]: true } }),
    };
  },
};
const early: Check<Orders> = { ...obey, id: "default.early", aliases: [], phases: beforeOnly };
const late: Check<Orders> = { ...obey, id: "partner.late", aliases: [], phases: ["afterRequestHook"] };

const byId = new Map<string, AnyCheck>();
for (const check of [obey, early, late]) {
  for (const id of [check.id, ...(check.aliases ?? [])]) byId.set(id, check as unknown as AnyCheck); // as the registry does
}
/** The checks of these tests: `default.obey`, also named `default.follow`, and those that run in one phase only. */
export const known: KnownChecks = byId;

/** Members of a config that hold hooks. */
export type Written = Readonly<Record<string, readonly unknown[]>>;

/** Reads hooks in which nothing is wrong. */
export function readGoodHooks(written: Written): Hooks {
  const { problems, ...hooks } = readHooks(written, known);
  assert.deepEqual(problems, []);
  return resolveHooks(hooks, noSavedGuardrails, known);
}

/** Hooks of `input_guardrails`. */
export function inputHooks(...hooks: unknown[]): readonly Hook[] {
  return readGoodHooks({ input_guardrails: hooks }).before;
}
