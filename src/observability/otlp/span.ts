/** Value of an attribute. */
export type AttributeValue = string | number | boolean | readonly string[];

/** Attributes by name. */
export type Attributes = Record<string, AttributeValue>;

/** Kinds of spans, with their numbers in OTLP. */
export const spanKinds = { internal: 1, server: 2, client: 3 } as const;
/** Codes of a status, with their numbers in OTLP. */
export const statusCodes = { unset: 0, ok: 1, error: 2 } as const;

/** An event of a span. */
interface SpanEvent {
  name: string;
  /** Unix milliseconds. */
  at: number;
  attributes: Attributes;
}

/** A span. Ids are lower-case hexadecimal digits, times Unix milliseconds with fractions. */
export interface Span {
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  name: string;
  kind: keyof typeof spanKinds;
  start: number;
  end: number;
  attributes: Attributes;
  events: readonly SpanEvent[];
  status: { code: keyof typeof statusCodes; message?: string };
}

/** A time in nanoseconds. */
export function toNanoseconds(milliseconds: number): bigint {
  // microseconds are exact in a double, nanoseconds are not
  return BigInt(Math.round(milliseconds * 1_000)) * 1_000n;
}

/** Attributes whose type is a floating point number, also where the value is whole. */
const doubles = new Set([
  "gateway.cost.usd",
  "gateway.guardrail.execution_time_ms",
  "gen_ai.request.temperature",
  "gen_ai.request.top_p",
  "gen_ai.request.top_k",
  "gen_ai.request.frequency_penalty",
  "gen_ai.request.presence_penalty",
]);

/** Whether a number is sent as an integer. */
export function isIntegerAttribute(name: string, value: number): boolean {
  return Number.isSafeInteger(value) && !doubles.has(name);
}
