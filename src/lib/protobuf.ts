import type { Budget } from "./budget.ts";

/** Bytes that are not a message of Protocol Buffers. */
export class ProtobufError extends Error {
  override readonly name = "ProtobufError";
}

/** A field of a message (https://protobuf.dev/programming-guides/encoding/). */
export type ProtobufField =
  | { readonly number: number; readonly kind: "varint" | "fixed64"; readonly value: bigint }
  | { readonly number: number; readonly kind: "fixed32"; readonly value: number }
  | { readonly number: number; readonly kind: "bytes"; readonly value: Uint8Array };

/** Bytes of a number, at most. */
const maxVarintBytes = 10;
/** Bytes of a number that JavaScript represents exactly. */
const maxPlainBytes = 7;

/** Reads fields one after another. */
class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get isAtEnd(): boolean {
    return this.#position === this.#bytes.length;
  }

  /** Skips bytes and returns where they begin. */
  #take(length: number): number {
    const start = this.#position;
    if (length > this.#bytes.length - start) throw new ProtobufError("the message is cut");
    this.#position += length;
    return start;
  }

  /** Skips a number and returns where it begins. */
  #skipVarint(): number {
    const start = this.#position;
    for (let length = 1; length <= maxVarintBytes; length++) {
      if ((this.#bytes[this.#take(1)] ?? 0) < 128) return start;
    }
    throw new ProtobufError("a number is too long");
  }

  /** The tag of a field, or a length. */
  #plainVarint(): number {
    const start = this.#skipVarint();
    if (this.#position - start > maxPlainBytes) throw new ProtobufError("a number is too long");
    let value = 0;
    for (let at = this.#position - 1; at >= start; at--) value = value * 128 + ((this.#bytes[at] ?? 0) & 127);
    return value;
  }

  #varint(): bigint {
    const start = this.#skipVarint();
    let value = 0n;
    for (let at = this.#position - 1; at >= start; at--) value = (value << 7n) | BigInt((this.#bytes[at] ?? 0) & 127);
    return BigInt.asUintN(64, value);
  }

  field(): ProtobufField {
    const tag = this.#plainVarint();
    const number = Math.floor(tag / 8);
    if (number < 1 || number > 536_870_911) throw new ProtobufError("the number of a field is invalid");
    switch (tag % 8) {
      case 0:
        return { number, kind: "varint", value: this.#varint() };
      case 1:
        return { number, kind: "fixed64", value: this.#view.getBigUint64(this.#take(8), true) };
      case 2: {
        const length = this.#plainVarint();
        const start = this.#take(length);
        return { number, kind: "bytes", value: this.#bytes.subarray(start, start + length) };
      }
      case 5:
        return { number, kind: "fixed32", value: this.#view.getUint32(this.#take(4), true) };
      default:
        throw new ProtobufError("the type of a field is not supported");
    }
  }
}

/**
 * The fields of a message, in order. Each counts as a value. Fields inside are read by reading the bytes of a field again,
 * with the same budget.
 *
 * @throws {ProtobufError}
 * @throws {ExcessError}
 */
export function* readFields(bytes: Uint8Array, budget: Budget): Generator<ProtobufField, void> {
  const reader = new Reader(bytes);
  while (!reader.isAtEnd) {
    budget.value();
    yield reader.field();
  }
}

function varintBytes(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return [...bytes, rest];
}

/** A field with a non-negative number. */
export function numberField(number: number, value: number): number[] {
  return [...varintBytes(number * 8), ...varintBytes(value)];
}

/** A field with text or with a message. */
export function bytesField(number: number, value: string | readonly number[]): number[] {
  const bytes = typeof value === "string" ? [...new TextEncoder().encode(value)] : value;
  return [...varintBytes(number * 8 + 2), ...varintBytes(bytes.length), ...bytes];
}
