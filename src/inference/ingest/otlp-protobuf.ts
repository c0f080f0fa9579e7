import { toHex } from "../../lib/base64.ts";
import { ProtobufError, type ProtobufField, readFields } from "../../lib/protobuf.ts";

// Numbers of the fields: https://github.com/open-telemetry/opentelemetry-proto, opentelemetry/proto/trace/v1/trace.proto

/** Values inside values, at most. */
const maxDepth = 16;
const decoder = new TextDecoder("utf-8", { fatal: true });

function bytesOf(field: ProtobufField): Uint8Array {
  if (field.kind === "bytes") return field.value;
  throw new ProtobufError(`field ${field.number} has another type`);
}

function textOf(field: ProtobufField): string {
  try {
    return decoder.decode(bytesOf(field));
  } catch (cause) {
    throw cause instanceof ProtobufError ? cause : new ProtobufError("a text is not UTF-8", { cause });
  }
}

function integerOf(field: ProtobufField): bigint {
  if (field.kind === "varint" || field.kind === "fixed64") return field.value;
  throw new ProtobufError(`field ${field.number} has another type`);
}

function doubleOf(field: ProtobufField): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, integerOf(field));
  return view.getFloat64(0);
}

/** Reads the fields of a message into an object; fields with a list are collected. */
type FieldReaders = Readonly<
  Record<number, readonly [name: string, read: (field: ProtobufField) => unknown, isList?: "list"]>
>;

function readMessage(bytes: Uint8Array, readers: FieldReaders): Record<string, unknown> {
  const message: Record<string, unknown> = {};
  for (const field of readFields(bytes)) {
    const reader = readers[field.number];
    if (!reader) continue;
    const [name, read, isList] = reader;
    if (!isList) message[name] = read(field);
    else {
      const list = message[name];
      if (Array.isArray(list)) list.push(read(field));
      else message[name] = [read(field)];
    }
  }
  return message;
}

const message = (readers: FieldReaders) => (field: ProtobufField) => readMessage(bytesOf(field), readers);

/** A value of an attribute, in the form of the JSON encoding. */
function readValue(field: ProtobufField, depth: number): Record<string, unknown> {
  if (depth > maxDepth) throw new ProtobufError(`values are nested more than ${maxDepth} deep`);
  const inner = (nested: ProtobufField) => readValue(nested, depth + 1);
  return readMessage(bytesOf(field), {
    1: ["stringValue", textOf],
    2: ["boolValue", (value) => integerOf(value) !== 0n],
    3: ["intValue", (value) => BigInt.asIntN(64, integerOf(value)).toString()],
    4: ["doubleValue", doubleOf],
    5: ["arrayValue", message({ 1: ["values", inner, "list"] })],
    6: ["kvlistValue", message({ 1: ["values", (pair) => readPair(pair, depth + 1), "list"] })],
  });
}

function readPair(field: ProtobufField, depth = 0): Record<string, unknown> {
  return readMessage(bytesOf(field), { 1: ["key", textOf], 2: ["value", (value) => readValue(value, depth)] });
}

const hexOf = (field: ProtobufField) => toHex(bytesOf(field));
const attributes = ["attributes", (field: ProtobufField) => readPair(field), "list"] as const;
const timeOf = (field: ProtobufField) => integerOf(field).toString();

const span = message({
  1: ["traceId", hexOf],
  2: ["spanId", hexOf],
  4: ["parentSpanId", hexOf],
  5: ["name", textOf],
  7: ["startTimeUnixNano", timeOf],
  8: ["endTimeUnixNano", timeOf],
  9: attributes,
  11: ["events", message({ 1: ["timeUnixNano", timeOf], 2: ["name", textOf], 3: attributes }), "list"],
  15: ["status", message({ 2: ["message", textOf], 3: ["code", (field) => Number(integerOf(field))] })],
});

/**
 * An export request as the JSON encoding of OTLP has it.
 *
 * @throws {ProtobufError}
 */
export function readExportRequest(bytes: Uint8Array): Record<string, unknown> {
  return readMessage(bytes, {
    1: [
      "resourceSpans",
      message({
        1: ["resource", message({ 1: attributes })],
        2: ["scopeSpans", message({ 2: ["spans", span, "list"] }), "list"],
      }),
      "list",
    ],
  });
}
