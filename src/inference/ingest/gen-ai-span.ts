import { UpstreamError } from "../../errors.ts";
import type { Budget } from "../../lib/budget.ts";
import { isObject, objectsIn, stringOf } from "../../lib/json.ts";
import { type Metadata, toMetadata } from "../../lib/metadata.ts";
import { withAllCounts } from "../../logs/usage.ts";
import { slugOfSystem } from "../../providers/gen-ai-names.ts";
import type { LoggedUsage } from "../../schemas/logs.ts";
import { plausibleStart, type ReportedCall, withoutQuery } from "./reported-row.ts";
import { unpackText } from "./unpack.ts";

// Attributes: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/

/** Operations by their names in the conventions. */
const operations: Readonly<Record<string, string>> = {
  chat: "chat",
  text_completion: "complete",
  embeddings: "embed",
};

/** Attributes by their keys. */
type Attributes = Readonly<Record<string, unknown>>;

/** Values inside values, at most. */
const maxDepth = 16;

/** A value as plain JSON; integers beyond the exact range stay text. */
function plainValue(value: unknown, depth = 0): unknown {
  if (!isObject(value) || depth > maxDepth) return null;
  const { stringValue, boolValue, intValue, doubleValue, arrayValue, kvlistValue } = value;
  if (intValue !== undefined) return Number.isSafeInteger(Number(intValue)) ? Number(intValue) : String(intValue);
  if (isObject(arrayValue)) return objectsIn(arrayValue.values).map((item) => plainValue(item, depth + 1));
  if (isObject(kvlistValue)) return plainAttributes(kvlistValue.values, depth + 1);
  const found = stringValue ?? boolValue ?? doubleValue;
  return typeof found === "object" || found === undefined ? null : found;
}

/** Attributes with addresses, whose queries may hold credentials. */
const addresses: ReadonlySet<string> = new Set(["url.full", "http.url", "http.target", "url.original"]);
const queries: ReadonlySet<string> = new Set(["url.query", "http.query"]);

/** Most attributes of one span, event or resource; further ones are dropped, as SDKs drop them beyond 128. */
const maxAttributes = 10_000;

function plainAttributes(pairs: unknown, depth = 0): Attributes {
  const taken = objectsIn(pairs).slice(0, maxAttributes);
  const plain = taken.flatMap(({ key, value }): [string, unknown][] => {
    const name = String(key);
    const shown = plainValue(value, depth);
    if (queries.has(name)) return [];
    return [[name, addresses.has(name) && typeof shown === "string" ? withoutQuery(shown) : shown]];
  });
  return Object.fromEntries(plain);
}

/** The first of these attributes that is text. */
function textIn(attributes: Attributes, ...names: readonly string[]): string | null {
  const found = names.map((name) => stringOf(attributes[name])).find((text) => text !== undefined && text !== "");
  return found?.slice(0, 256) ?? null;
}

function countIn(attributes: Attributes, ...names: readonly string[]): number {
  for (const name of names) {
    const count = Number(attributes[name] ?? Number.NaN);
    if (Number.isSafeInteger(count) && count >= 0) return count;
  }
  return 0;
}

function usageOf(attributes: Attributes): LoggedUsage | null {
  const input = countIn(attributes, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens");
  const output = countIn(attributes, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens");
  if (input + output === 0) return null;
  return withAllCounts({
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    cached_tokens: countIn(attributes, "gen_ai.usage.cache_read.input_tokens"),
    cache_write_tokens: countIn(attributes, "gen_ai.usage.cache_creation.input_tokens"),
    reasoning_tokens: countIn(attributes, "gen_ai.usage.reasoning.output_tokens"),
  });
}

/** Attributes with what a model was asked, and with what it wrote. */
const isInput = (name: string) => /^gen_ai\.(?:input|prompt|system_instructions|tool\.definitions)/.test(name);
const isOutput = (name: string) => /^gen_ai\.(?:output\.messages|completion)/.test(name);

function contentsOf(
  attributes: Attributes,
  isPart: (name: string) => boolean,
  budget: Budget,
): Record<string, unknown> {
  const found = Object.entries(attributes).filter(([name]) => isPart(name));
  return Object.fromEntries(found.map(([name, value]) => [name, unpackText(value, budget)]));
}

/** Most characters of the attributes of a resource: each row of its spans shows them. */
const maxResource = 16 * 1024;

/** The attributes of a resource that rows show, from the first one on. Spans share the result. */
export function readResource(resource: unknown): Attributes {
  const shown: [string, unknown][] = [];
  let length = 0;
  for (const [name, value] of Object.entries(plainAttributes(isObject(resource) ? resource.attributes : undefined))) {
    const added = name.length + JSON.stringify(value).length;
    if (length + added > maxResource) continue;
    length += added;
    shown.push([name, value]);
  }
  return Object.fromEntries(shown);
}

/** Most pairs of metadata. */
const maxPairs = 64;

/** Plain attributes that are not contents. */
function metadataOf(resource: Attributes, attributes: Attributes): Metadata {
  const user = textIn(attributes, "user.id", "enduser.id");
  const service = textIn(resource, "service.name");
  const plain = Object.entries(attributes).filter(
    ([name, value]) => value !== null && typeof value !== "object" && !isInput(name) && !isOutput(name),
  );
  const first: [string, unknown][] = [];
  if (user !== null) first.push(["_user", user]);
  if (service !== null) first.push(["service.name", service]);
  return toMetadata(Object.fromEntries([...first, ...plain].slice(0, maxPairs))) ?? {};
}

/**
 * Milliseconds of a time in nanoseconds, exact to the microsecond; NaN for anything else.
 *
 * Nanoseconds since 1970 have more digits than a number: a division of the whole rounds some down to the millisecond before.
 */
function toMs(nanos: unknown): number {
  const digits = stringOf(nanos) ?? (typeof nanos === "number" && Number.isSafeInteger(nanos) ? String(nanos) : "");
  if (!/^\d{1,20}$/.test(digits)) return Number(nanos ?? Number.NaN) / 1e6;
  return Number(digits.slice(0, -6)) + Number(digits.slice(-6)) / 1e6;
}

/** An id in hexadecimal digits; null for one that is invalid, absent or zero. */
function readId(value: unknown, digits: number): string | null {
  const id = stringOf(value)?.toLowerCase() ?? "";
  return new RegExp(`^[0-9a-f]{${digits}}$`).test(id) && !/^0+$/.test(id) ? id : null;
}

/** Longest duration of a span that is believed, in milliseconds. */
const maxDurationMs = 7 * 86_400_000;

/**
 * The request that a span reports; undefined for a span without valid ids.
 *
 * @param span In the JSON encoding of OTLP.
 * @param ofResource What `readResource` made.
 */
export function toReported(
  span: Record<string, unknown>,
  ofResource: Attributes,
  { now, budget }: { now: number; budget: Budget },
): ReportedCall | undefined {
  const [traceId, spanId] = [readId(span.traceId, 32), readId(span.spanId, 16)];
  if (traceId === null || spanId === null) return undefined;
  const attributes = plainAttributes(span.attributes);
  const { code, message } = isObject(span.status) ? span.status : {};
  const isFailed = code === 2 || code === "STATUS_CODE_ERROR";
  const [start, end] = [toMs(span.startTimeUnixNano), toMs(span.endTimeUnixNano)];
  const named = textIn(attributes, "gen_ai.provider.name", "gen_ai.system");
  const provider = named === null ? null : slugOfSystem(named);
  const operation = operations[textIn(attributes, "gen_ai.operation.name") ?? ""] ?? "otel";
  const answeredModel = textIn(attributes, "gen_ai.response.model");
  const failure = () =>
    new UpstreamError(500, stringOf(message) || "The span has failed", {
      code: textIn(attributes, "error.type") ?? "span_failed",
    });
  const asked = contentsOf(attributes, (name) => !isOutput(name), budget);
  const written = contentsOf(attributes, isOutput, budget);
  const events = objectsIn(span.events).map(({ name, attributes: own }) => ({
    name,
    attributes: plainAttributes(own),
  }));
  return {
    source: "otel",
    startedAt: plausibleStart(start, now),
    durationMs: end - start >= 0 && end - start <= maxDurationMs ? end - start : 0,
    method: textIn(attributes, "http.request.method") ?? "POST",
    url: textIn(attributes, "url.full", "server.address") ?? "/v1/otel/v1/traces",
    operation,
    status: isFailed ? 500 : 200,
    provider,
    model: textIn(attributes, "gen_ai.request.model") ?? answeredModel,
    answeredModel,
    stream: attributes["gen_ai.request.stream"] === true,
    usage: usageOf(attributes),
    traceId,
    spanId,
    parentSpanId: readId(span.parentSpanId, 16),
    spanName: stringOf(span.name)?.slice(0, 256) ?? null,
    metadata: metadataOf(ofResource, attributes),
    request: { headers: {}, body: JSON.stringify({ attributes: asked, resource: ofResource }) },
    response: { headers: {}, body: JSON.stringify({ attributes: written, events }) },
    error: isFailed ? failure() : undefined,
  };
}
