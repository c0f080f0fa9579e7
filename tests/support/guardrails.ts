import assert from "node:assert/strict";
import { readHooks } from "../../src/guardrails/read-hooks.ts";
import { createChecks } from "../../src/guardrails/registry.ts";
import { noSavedGuardrails, resolveHooks } from "../../src/guardrails/resolve.ts";
import { runHooks } from "../../src/guardrails/run.ts";
import type { PhaseOutcome, Subject } from "../../src/guardrails/subject.ts";
import type { Body, RequestType } from "../../src/guardrails/types.ts";
import { createAddressGuard } from "../../src/lib/address.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { createOutbound } from "../../src/lib/outbound.ts";
import type { CheckResult } from "../../src/schemas/hooks.ts";
import { createRuntimeTransport } from "./gateway.ts";

/** Input of a check in a test. */
export interface Seen {
  requestType?: RequestType;
  /** The request body; by default a chat with `text`. */
  request?: Body;
  /** The response body. Absent: the check runs before the call. */
  answer?: Body;
  /** Text of the request's only message, or with `answers` of the response's. */
  text?: string;
  /** The text is that of the response. */
  answers?: boolean;
  headers?: Readonly<Record<string, string>>;
  metadata?: Readonly<Record<string, unknown>>;
  provider?: string;
  /** Default: the clock of the machine. */
  clock?: Clock;
}

/** A clock that advances this much with every reading. */
export function createSlowClock(milliseconds: number): Clock {
  let passed = 0;
  const advance = () => {
    passed += milliseconds;
    return passed;
  };
  return { now: () => Date.UTC(2026, 0, 15) + passed, monotonic: advance };
}

/** A chat with one message. */
export function chatRequest(text: string): Body {
  return { model: "gpt-test", messages: [{ role: "user", content: text }] };
}

/** A chat completion with one message. */
export function chatAnswer(text: string | null): Body {
  return {
    id: "c-1",
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: text } }],
  };
}

function toSubject(seen: Seen): Subject {
  const { requestType = "chatComplete", text = "", answers = false, headers = {}, metadata = {} } = seen;
  const answer = seen.answer ?? (answers ? chatAnswer(text) : undefined);
  return {
    phase: answer ? "afterRequestHook" : "beforeRequestHook",
    requestType,
    tenant: "tenant",
    provider: seen.provider ?? "openai",
    request: {
      body: seen.request ?? chatRequest(text),
      header: (name) => headers[name.toLowerCase()],
      isStreaming: false,
      isTransformed: false,
    },
    response: answer && { body: answer, status: 200, isTransformed: false },
    metadata,
  };
}

/** The checks under test; their calls go to loopback. */
export const checks = createChecks({
  outbound: createOutbound({
    transport: createRuntimeTransport(),
    guard: createAddressGuard({ trustedHosts: ["127.0.0.1", "localhost"] }),
  }),
  clock: systemClock,
});

/** Runs guardrails in either format. */
export function guard(hooks: readonly unknown[], seen: Seen): Promise<PhaseOutcome> {
  return prepareGuard(hooks, seen)();
}

/** Reads guardrails in either format; returns a function that runs them. */
export function prepareGuard(hooks: readonly unknown[], seen: Seen): () => Promise<PhaseOutcome> {
  const subject = toSubject(seen);
  const name = subject.response ? "output_guardrails" : "input_guardrails";
  const read = readHooks({ [name]: hooks }, checks);
  assert.deepEqual(read.problems, []);
  const { before, after } = resolveHooks(read, noSavedGuardrails, checks);
  return async () => runHooks(subject.response ? after : before, subject, seen.clock ?? systemClock);
}

/** Runs one check; returns its result and outcome. Undefined if it skipped. */
export async function runCheck(
  id: string,
  parameters: Readonly<Record<string, unknown>>,
  seen: Seen,
): Promise<{ result: CheckResult | undefined; outcome: PhaseOutcome }> {
  const outcome = await guard([{ checks: [{ id, parameters }] }], seen);
  return { result: outcome.results[0]?.checks[0], outcome };
}

/** Problems with the parameters of a check, before a call. */
export function problemsOf(id: string, parameters: unknown, place = "input_guardrails"): string[] {
  const { problems } = readHooks({ [place]: [{ checks: [{ id, parameters }] }] }, checks);
  return problems.map(({ path, message }) => `${path}: ${message}`);
}
