import { version } from "../../version.ts";
import {
  type Attributes,
  type AttributeValue,
  isIntegerAttribute,
  type Span,
  spanKinds,
  statusCodes,
  toNanoseconds,
} from "./span.ts";

// JSON of OTLP (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding)

function toValue(name: string, value: AttributeValue): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number") {
    return isIntegerAttribute(name, value) ? { intValue: String(value) } : { doubleValue: value };
  }
  return { arrayValue: { values: value.map((item) => ({ stringValue: item })) } };
}

function toAttributes(attributes: Attributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: toValue(key, value) }));
}

function toSpan({ traceId, spanId, parentSpanId, name, kind, start, end, attributes, events, status }: Span): object {
  return {
    traceId,
    spanId,
    ...(parentSpanId !== null && { parentSpanId }),
    name,
    kind: spanKinds[kind],
    startTimeUnixNano: String(toNanoseconds(start)),
    endTimeUnixNano: String(toNanoseconds(end)),
    attributes: toAttributes(attributes),
    events: events.map((event) => ({
      timeUnixNano: String(toNanoseconds(event.at)),
      name: event.name,
      attributes: toAttributes(event.attributes),
    })),
    status: { code: statusCodes[status.code], ...(status.message !== undefined && { message: status.message }) },
  };
}

/** A request that exports spans, as JSON. */
export function toJsonRequest(spans: readonly Span[], resource: Attributes): Uint8Array<ArrayBuffer> {
  const scopeSpans = [{ scope: { name: "gateway", version }, spans: spans.map(toSpan) }];
  const text = JSON.stringify({ resourceSpans: [{ resource: { attributes: toAttributes(resource) }, scopeSpans }] });
  return new TextEncoder().encode(text);
}
