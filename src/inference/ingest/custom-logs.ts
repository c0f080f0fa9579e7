import * as v from "valibot";
import type { CallerContext } from "../../context.ts";
import { readJsonBody, requireBody } from "../../endpoint/body.ts";
import { InvalidRequestError } from "../../errors.ts";
import type { Budget } from "../../lib/budget.ts";
import type { ExactNumbers } from "../../lib/exact-numbers.ts";
import { isObject, stringOf } from "../../lib/json.ts";
import { type Metadata, toMetadata } from "../../lib/metadata.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import type { Steps } from "../../lib/steps.ts";
import { assembleSteps } from "../../logs/assemble.ts";
import { CustomLog, CustomLogList, maxEntries } from "../../schemas/custom-logs.ts";
import { countsOfBody, modelOfBody } from "../call/usage-units.ts";
import { plausibleStart, type ReportedCall, writeReported } from "./reported-row.ts";
import { createUnpackBudget, unpackText } from "./unpack.ts";

/** A member of an entry, which may come as JSON in a string. */
function unpacked(entry: unknown, budget: Budget): unknown {
  const value = unpackText(entry, budget);
  if (!isObject(value)) return value;
  const { request, response, metadata, ...others } = value;
  return {
    ...others,
    request: unpackText(request, budget),
    response: unpackText(response, budget),
    ...(metadata !== undefined && { metadata: unpackText(metadata, budget) }),
  };
}

/** One entry or a list: a schema for either could not name the field that is wrong. */
function* readEntries(body: unknown, budget: Budget): Steps<CustomLog[]> {
  const value = unpackText(body, budget);
  if (!Array.isArray(value)) return [requireBody(CustomLog, unpacked(value, budget))];
  if (value.length > maxEntries) return requireBody(CustomLogList, value);
  const entries: unknown[] = [];
  for (const entry of value) {
    entries.push(unpacked(entry, budget));
    if (budget.isDue) yield budget.endPiece();
  }
  return requireBody(CustomLogList, entries);
}

/** A body as text, its numbers as they were written. */
function textOf(body: unknown, numbers: ExactNumbers | undefined): string | null {
  if (body === undefined || body === null) return null;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return numbers ? numbers.restore(text) : text;
}

/** Headers with valid names and values only: others cannot have been sent. */
function headersOf(given: Readonly<Record<string, unknown>> | null | undefined): Record<string, string> {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given ?? {})) {
    try {
      headers.set(name, String(value));
    } catch {
      // not a header
    }
  }
  return Object.fromEntries(headers);
}

/** Members of the metadata that say where the entry belongs in its trace, in either spelling. */
const traceMembers = {
  traceId: "trace_id",
  spanId: "span_id",
  parentSpanId: "parent_span_id",
  spanName: "span_name",
} as const;
const allTraceMembers = new Set<string>(Object.entries(traceMembers).flat());

function traceOf(metadata: Readonly<Record<string, unknown>>) {
  const of = (name: keyof typeof traceMembers): string | null => {
    const value = metadata[name] ?? metadata[traceMembers[name]];
    const text = typeof value === "number" ? String(value) : stringOf(value);
    if (text !== undefined && text.length > 256) {
      throw new InvalidRequestError(`Invalid request body: metadata.${name}: must have at most 256 characters`, {
        code: "invalid_body",
        param: `metadata.${name}`,
      });
    }
    return text === undefined || text === "" ? null : text;
  };
  return { traceId: of("traceId"), spanId: of("spanId"), parentSpanId: of("parentSpanId"), spanName: of("spanName") };
}

function metadataOf(given: Readonly<Record<string, unknown>>): Metadata {
  const own = Object.entries(given).filter(([name]) => !allTraceMembers.has(name));
  const metadata = toMetadata(Object.fromEntries(own));
  if (metadata) return metadata;
  throw new InvalidRequestError("Invalid request body: metadata: must have at most 64 plain values", {
    code: "invalid_body",
    param: "metadata",
  });
}

/** The response as an object, of a stream what its events add up to; undefined for any other. */
function* answerOf(body: unknown, budget: Budget): Steps<object | undefined> {
  const value = unpackText(body, budget);
  const answer = typeof value === "string" ? yield* assembleSteps(value, budget) : value;
  return isObject(answer) ? answer : undefined;
}

function* toCall(
  { request, response, metadata }: CustomLog,
  { numbers, services }: CallerContext,
  budget: Budget,
): Steps<ReportedCall> {
  const now = services.clock.now();
  const asked = unpackText(request.body, budget);
  const answer = yield* answerOf(response.body, budget);
  const durationMs = response.response_time ?? response.time ?? 0;
  return {
    source: "custom",
    startedAt: plausibleStart(now - durationMs, now),
    durationMs,
    method: (request.method ?? "POST").toUpperCase(),
    url: request.url,
    operation: "custom",
    status: response.status ?? 200,
    provider: request.provider ?? null,
    model:
      (isObject(asked) ? stringOf(asked.model) : undefined)?.slice(0, 256) ??
      modelOfBody(answer)?.slice(0, 256) ??
      null,
    answeredModel: modelOfBody(answer)?.slice(0, 256) ?? null,
    stream: response.streamingMode === true || response.streaming_mode === true,
    usage: answer ? countsOfBody(answer) : null,
    ...traceOf(metadata ?? {}),
    metadata: metadataOf(metadata ?? {}),
    request: { headers: headersOf(request.headers), body: textOf(request.body, numbers) },
    response: { headers: headersOf(response.headers), body: textOf(response.body, numbers) },
  };
}

function* readCalls(body: unknown, context: CallerContext, budget: Budget): Steps<ReportedCall[]> {
  const calls: ReportedCall[] = [];
  for (const entry of yield* readEntries(body, budget)) calls.push(yield* toCall(entry, context, budget));
  return calls;
}

/** Stores requests that did not go through the gateway. If an entry is invalid, none is stored. */
export async function writeCustomLogs(context: CallerContext): Promise<Reply> {
  const { services } = context;
  const { value } = await readJsonBody(context, services.limits.jsonBodyBytes, services);
  const budget = createUnpackBudget(services.limits.jsonBodyBytes);
  const calls = await budget.run(readCalls(value, context, budget));
  return jsonReply({ status: "success", log_ids: await writeReported(calls, context, budget) });
}

/** Response of `POST /logs`. */
export const CustomLogReceipt = v.object({ status: v.literal("success"), log_ids: v.array(v.string()) });
