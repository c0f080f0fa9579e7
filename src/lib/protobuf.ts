/** Bytes that are not a message of Protocol Buffers. */
export class ProtobufError extends Error {
  override readonly name = "ProtobufError";
}

/** A field of a message (https://protobuf.dev/programming-guides/encoding/). */
export type ProtobufField =
  | { readonly number: number; readonly kind: "varint" | "fixed64"; readonly value: bigint }
  | { readonly number: number; readonly kind: "fixed32"; readonly value: number }
  | { readonly number: number; readonly kind: "bytes"; readonly value: Uint8Array };

/** Bits of a number, at most; more do not fit into ten bytes. */
const maxVarintBits = 63;

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

  varint(): bigint {
    let value = 0n;
    for (let shift = 0; shift <= maxVarintBits; shift += 7) {
      const byte = this.#bytes[this.#take(1)] ?? 0;
      value |= BigInt(byte & 127) << BigInt(shift);
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    throw new ProtobufError("a number is too long");
  }

  field(): ProtobufField {
    const tag = Number(this.varint());
    const number = Math.floor(tag / 8);
    if (number < 1 || number > 536_870_911) throw new ProtobufError("the number of a field is invalid");
    switch (tag % 8) {
      case 0:
        return { number, kind: "varint", value: this.varint() };
      case 1:
        return { number, kind: "fixed64", value: this.#view.getBigUint64(this.#take(8), true) };
      case 2: {
        const length = Number(this.varint());
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
 * The fields of a message, in order. Fields inside are read by reading the bytes of a field again.
 *
 * @throws {ProtobufError}
 */
export function* readFields(bytes: Uint8Array): Generator<ProtobufField, void> {
  const reader = new Reader(bytes);
  while (!reader.isAtEnd) yield reader.field();
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
