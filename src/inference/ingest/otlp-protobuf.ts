import { toHex } from "../../lib/base64.ts";
import type { Budget } from "../../lib/budget.ts";
import { ProtobufError, type ProtobufField, readFields } from "../../lib/protobuf.ts";
import type { Steps } from "../../lib/steps.ts";

// Numbers of the fields: https://github.com/open-telemetry/opentelemetry-proto, opentelemetry/proto/trace/v1/trace.proto

const decoder = new TextDecoder("utf-8", { fatal: true });
/** Longest id; longer ones are invalid however they read. */
const maxIdBytes = 32;

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

const hexOf = (field: ProtobufField) => {
  const bytes = bytesOf(field);
  return bytes.length <= maxIdBytes ? toHex(bytes) : "";
};
const timeOf = (field: ProtobufField) => integerOf(field).toString();

/** A field of a message: a plain value, or a message with its own fields. */
interface FieldRow {
  readonly name: string;
  readonly isList?: true;
  readonly read?: (field: ProtobufField) => unknown;
  readonly fields?: () => FieldRows;
  /** Only so many are read. */
  readonly isSpan?: true;
}

/** Fields of a message by their numbers. */
type FieldRows = Readonly<Record<number, FieldRow>>;

/** A value of an attribute, in the form of the JSON encoding. */
const valueFields: FieldRows = {
  1: { name: "stringValue", read: textOf },
  2: { name: "boolValue", read: (field) => integerOf(field) !== 0n },
  3: { name: "intValue", read: (field) => BigInt.asIntN(64, integerOf(field)).toString() },
  4: { name: "doubleValue", read: doubleOf },
  5: { name: "arrayValue", fields: () => ({ 1: { name: "values", isList: true, fields: () => valueFields } }) },
  6: { name: "kvlistValue", fields: () => ({ 1: { name: "values", isList: true, fields: () => pairFields } }) },
};
const pairFields: FieldRows = {
  1: { name: "key", read: textOf },
  2: { name: "value", fields: () => valueFields },
};
const attributes: FieldRow = { name: "attributes", isList: true, fields: () => pairFields };

const eventFields: FieldRows = {
  1: { name: "timeUnixNano", read: timeOf },
  2: { name: "name", read: textOf },
  3: attributes,
};
const statusFields: FieldRows = {
  2: { name: "message", read: textOf },
  3: { name: "code", read: (field) => Number(integerOf(field)) },
};
const spanFields: FieldRows = {
  1: { name: "traceId", read: hexOf },
  2: { name: "spanId", read: hexOf },
  4: { name: "parentSpanId", read: hexOf },
  5: { name: "name", read: textOf },
  7: { name: "startTimeUnixNano", read: timeOf },
  8: { name: "endTimeUnixNano", read: timeOf },
  9: attributes,
  11: { name: "events", isList: true, fields: () => eventFields },
  15: { name: "status", fields: () => statusFields },
};
const scopeFields: FieldRows = { 2: { name: "spans", isList: true, isSpan: true, fields: () => spanFields } };
const resourceSpansFields: FieldRows = {
  1: { name: "resource", fields: () => ({ 1: attributes }) },
  2: { name: "scopeSpans", isList: true, fields: () => scopeFields },
};
const requestFields: FieldRows = { 1: { name: "resourceSpans", isList: true, fields: () => resourceSpansFields } };

/** Bytes that are decoded in one step. */
const bytesPerStep = 32;

/** Reads an export request. */
class ExportReader {
  readonly #budget: Budget;
  readonly #maxSpans: number;
  #spans = 0;

  constructor(budget: Budget, maxSpans: number) {
    this.#budget = budget;
    this.#maxSpans = maxSpans;
  }

  /** Spans beyond the limit. */
  get beyond(): number {
    return Math.max(0, this.#spans - this.#maxSpans);
  }

  *message(bytes: Uint8Array, rows: FieldRows, level = 1): Steps<Record<string, unknown>> {
    this.#budget.depth(level);
    const message: Record<string, unknown> = {};
    for (const field of readFields(bytes, this.#budget)) {
      if (this.#budget.isDue) yield this.#budget.endPiece();
      const row = rows[field.number];
      if (!row || (row.isSpan && ++this.#spans > this.#maxSpans)) continue;
      const value = row.fields
        ? yield* this.message(bytesOf(field), row.fields(), level + 1)
        : this.#plain(field, row.read);
      const known = message[row.name];
      if (!row.isList) message[row.name] = value;
      else if (Array.isArray(known)) known.push(value);
      else message[row.name] = [value];
    }
    return message;
  }

  #plain(field: ProtobufField, read: FieldRow["read"]): unknown {
    if (field.kind === "bytes") this.#budget.step(Math.ceil(field.value.length / bytesPerStep));
    return read?.(field);
  }
}

/** An export request, and how many of its spans were not read. */
export interface ReadExport {
  readonly request: Record<string, unknown>;
  readonly beyond: number;
}

/**
 * An export request as the JSON encoding of OTLP has it.
 *
 * @param budget Each field counts as a value.
 * @param maxSpans Further spans are counted, not read.
 * @throws {ProtobufError}
 * @throws {ExcessError}
 */
export function* readExportRequest(bytes: Uint8Array, budget: Budget, maxSpans: number): Steps<ReadExport> {
  const reader = new ExportReader(budget, maxSpans);
  const request = yield* reader.message(bytes, requestFields);
  return { request, beyond: reader.beyond };
}
