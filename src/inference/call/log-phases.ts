import type { CallRecord } from "../../context/call-record.ts";
import type { CallerContext } from "../../context.ts";
import { beginningOf } from "../../logs/body.ts";
import type { RecordPhases } from "../../logs/record.ts";
import { depthOf } from "../facts/log-privacy.ts";
import type { PreparedCall } from "./prepared-call.ts";

/** Whether two objects have the same members: conversions keep what they do not change. */
function isSame(one: object, other: object): boolean {
  if (one === other) return true;
  // objects of JSON, read by name
  const [first, second] = [one, other] as Readonly<Record<string, unknown>>[];
  for (const name in first) if (first[name] !== second?.[name]) return false;
  for (const name in second) if (second[name] !== undefined && first?.[name] === undefined) return false;
  return true;
}

/** A request before and after its conversion. */
interface Conversion {
  /** With the parameters of its config, as its guardrails left it. */
  readonly request: object;
  /** What the provider's request was made from. */
  readonly made: unknown;
}

/** Whether a body is there as a whole, not as a stream. */
function isWhole(body: PreparedCall["body"]): body is string | Uint8Array {
  return typeof body === "string" || body instanceof Uint8Array;
}

/** Records what is sent to a provider, where it differs from the caller's request and the row may show it. */
export function noteSent({ request, made }: Conversion, call: PreparedCall, context: CallerContext): void {
  const { log } = context;
  log.phases = null;
  const { given } = log;
  if (given === null || typeof made !== "object" || made === null || !isWhole(call.body)) return;
  if (isSame(given, made) || keepsNothing(context)) return;
  const { method, headers, body } = call;
  const isChanged = !isSame(given, request);
  // what guardrails and overlays made of the request may be what was sent
  const isSent = isChanged && isSame(request, made);
  const held = beginningOf(body);
  log.phases = {
    final: isChanged ? request : null,
    // its numbers are restored in what is sent later
    finalBody: isSent && !context.numbers ? held : null,
    sent: isSent ? null : { method, headers, body: held },
    original: null,
  };
}

/** Records a provider's response that is converted. */
export function noteOriginal(bytes: Uint8Array, context: CallerContext, isFailure = false): void {
  const { log } = context;
  if (!isFailure && keepsNothing(context)) return;
  log.phases ??= { final: null, finalBody: null, sent: null, original: null };
  log.phases.original = beginningOf(bytes);
}

/** Whether a row holds nothing but counts of its request. */
export function keepsNothing(context: CallerContext): boolean {
  const depth = depthOf(context);
  return !(depth instanceof Promise) && depth !== "all";
}

/** The phases of a request as its row stores them; undefined without any. */
export function phasesOf({ phases }: CallRecord, { numbers }: CallerContext): RecordPhases | undefined {
  if (!phases) return undefined;
  const { final, sent, original } = phases;
  let { finalBody } = phases;
  if (final && !finalBody) {
    const text = JSON.stringify(final);
    finalBody = beginningOf(numbers ? numbers.restore(text) : text);
  }
  return { finalBody, sent, originalBody: original };
}
