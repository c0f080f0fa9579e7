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

/** Instructions for a check of these tests. */
const Orders = v.object({
  pass: v.optional(v.boolean(), true),
  data: v.optional(v.record(v.string(), v.unknown())),
  /** It cannot decide. */
  error: v.optional(v.string()),
  verdict: v.optional(v.boolean()),
  /** It throws. */
  throws: v.optional(v.boolean(), false),
  skips: v.optional(v.boolean(), false),
  /** Appended to each string. */
  suffix: v.optional(v.string()),
  /** Field of the body to set. */
  member: v.optional(v.string()),
  headers: v.optional(v.record(v.string(), v.string())),
  /** Milliseconds before its result. */
  waits: v.optional(v.number(), 0),
  /** It reads no text. */
  isBlind: v.optional(v.boolean(), false),
});
export type Orders = v.InferOutput<typeof Orders>;

/** A check that follows its instructions and reports what it saw. */
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
      ...(suffix !== undefined && { strings: input.strings.map((text) => `${text}${suffix}`) }),
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
