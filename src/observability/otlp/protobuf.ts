import { fromHex } from "../../lib/base64.ts";
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

// The few messages of OTLP that export spans (https://github.com/open-telemetry/opentelemetry-proto), in the wire format of
// https://protobuf.dev/programming-guides/encoding/. Numbers of fields are those of the definitions.

const encoder = new TextEncoder();

/** Writes one message. */
class Message {
  #bytes = new Uint8Array(256);
  #length = 0;

  #grow(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }

  #varint(value: bigint): void {
    this.#grow(10);
    let rest = value;
    while (rest > 0x7fn) {
      this.#bytes[this.#length++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#bytes[this.#length++] = Number(rest);
  }

  #tag(field: number, wireType: number): void {
    this.#varint(BigInt((field << 3) | wireType));
  }

  /** A signed integer or an enumeration; negative ones take ten bytes. */
  integer(field: number, value: number | bigint): this {
    this.#tag(field, 0);
    this.#varint(BigInt.asUintN(64, BigInt(value)));
    return this;
  }

  fixed64(field: number, value: bigint): this {
    this.#tag(field, 1);
    this.#grow(8);
    new DataView(this.#bytes.buffer).setBigUint64(this.#length, value, true);
    this.#length += 8;
    return this;
  }

  double(field: number, value: number): this {
    this.#tag(field, 1);
    this.#grow(8);
    new DataView(this.#bytes.buffer).setFloat64(this.#length, value, true);
    this.#length += 8;
    return this;
  }

  bytes(field: number, value: Uint8Array): this {
    this.#tag(field, 2);
    this.#varint(BigInt(value.length));
    this.#grow(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
    return this;
  }

  text(field: number, value: string): this {
    return this.bytes(field, encoder.encode(value));
  }

  message(field: number, value: Message): this {
    return this.bytes(field, value.toBytes());
  }

  toBytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }
}

function toValue(name: string, value: AttributeValue): Message {
  const message = new Message();
  if (typeof value === "string") return message.text(1, value);
  if (typeof value === "boolean") return message.integer(2, value ? 1 : 0);
  if (typeof value === "number") {
    return isIntegerAttribute(name, value) ? message.integer(3, value) : message.double(4, value);
  }
  const list = new Message();
  for (const item of value) list.message(1, new Message().text(1, item));
  return message.message(5, list);
}

function addAttributes(message: Message, field: number, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    message.message(field, new Message().text(1, name).message(2, toValue(name, value)));
  }
}

function toSpan({ traceId, spanId, parentSpanId, name, kind, start, end, attributes, events, status }: Span): Message {
  const message = new Message().bytes(1, fromHex(traceId)).bytes(2, fromHex(spanId));
  if (parentSpanId !== null) message.bytes(4, fromHex(parentSpanId));
  message.text(5, name).integer(6, spanKinds[kind]);
  message.fixed64(7, toNanoseconds(start)).fixed64(8, toNanoseconds(end));
  addAttributes(message, 9, attributes);
  for (const event of events) {
    const added = new Message().fixed64(1, toNanoseconds(event.at)).text(2, event.name);
    addAttributes(added, 3, event.attributes);
    message.message(11, added);
  }
  const state = new Message();
  if (status.message !== undefined) state.text(2, status.message);
  return message.message(15, state.integer(3, statusCodes[status.code]));
}

/** A request that exports spans, in the binary encoding. */
export function toProtobufRequest(spans: readonly Span[], resource: Attributes): Uint8Array<ArrayBuffer> {
  const described = new Message();
  addAttributes(described, 1, resource);
  const scope = new Message().message(1, new Message().text(1, "gateway").text(2, version));
  for (const span of spans) scope.message(2, toSpan(span));
  return new Message().message(1, new Message().message(1, described).message(2, scope)).toBytes();
}
