import { Budget } from "../../lib/budget.ts";
import { decodeUtf8, isObject } from "../../lib/json.ts";
import { toPrintable } from "../../lib/printable.ts";
import { readFields } from "../../lib/protobuf.ts";

// Responses of collectors (https://opentelemetry.io/docs/specs/otlp/#otlphttp-response). Numbers of fields are those of
// the definitions.

/** What a collector says of a request that it took. */
export interface PartialSuccess {
  /** Spans that it did not take, a whole number. */
  readonly rejected: number;
  /** Why, or a warning; empty without one. */
  readonly message: string;
}

/** Longest message that is shown. */
const maxMessage = 256;

const whole: PartialSuccess = { rejected: 0, message: "" };

function toPartial(rejected: unknown, message: unknown): PartialSuccess {
  const count = typeof rejected === "string" || typeof rejected === "number" ? Number(rejected) : 0;
  return {
    rejected: Number.isSafeInteger(count) && count > 0 ? count : 0,
    message: typeof message === "string" ? toPrintable(message.slice(0, maxMessage)) : "",
  };
}

function readJson(bytes: Uint8Array, budget: Budget): PartialSuccess {
  const body = budget.json(bytes);
  const partial = isObject(body) ? (body.partialSuccess ?? body.partial_success) : undefined;
  if (!isObject(partial)) return whole;
  return toPartial(partial.rejectedSpans ?? partial.rejected_spans, partial.errorMessage ?? partial.error_message);
}

function readBinary(bytes: Uint8Array, budget: Budget): PartialSuccess {
  let found = whole;
  for (const field of readFields(bytes, budget)) {
    if (field.number !== 1 || field.kind !== "bytes") continue;
    let [rejected, message]: [number, string] = [0, ""];
    for (const part of readFields(field.value, budget)) {
      if (part.number === 1 && part.kind === "varint") rejected = Number(part.value);
      if (part.number === 2 && part.kind === "bytes") message = decodeUtf8(part.value);
    }
    found = toPartial(rejected, message);
  }
  return found;
}

/** Reads what a collector responded to a request that it took. What cannot be read says that it took all. */
export function readPartialSuccess(bytes: Uint8Array, contentType: string | null): PartialSuccess {
  const budget = new Budget({ source: "upstream", what: "the response of the collector", values: 1_000 });
  try {
    return contentType?.startsWith("application/x-protobuf") ? readBinary(bytes, budget) : readJson(bytes, budget);
  } catch {
    return whole;
  }
}
