/** Bytes of a block: a value takes whole ones. */
export const blockBytes = 512;
/** Blocks that are allocated at a time. */
const segmentBlocks = 2_048;
/** Follows the last block of a value. */
const noBlock = -1;

interface Segment {
  readonly bytes: Uint8Array;
  /** The block that follows each of the segment's blocks. */
  readonly next: Int32Array;
  /** The bytes of the values that begin in the segment's blocks. */
  readonly lengths: Int32Array;
}

/** Bytes that a value of a length takes in a `BlockMemory`. */
export const takenBytes = (length: number): number => Math.max(1, Math.ceil(length / blockBytes)) * blockBytes;

/**
 * Memory for values that come and go, in blocks of one size that are used again. What is released leaves nothing to the
 * garbage collector, and room that any other value fits in, so the process grows by the blocks that are in use at most.
 * The caller limits how many these are.
 */
export class BlockMemory {
  readonly #segments: Segment[] = [];
  /** The first of the free blocks, which follow each other. */
  #free = noBlock;

  /** Bytes that are allocated, in use or free. */
  get bytes(): number {
    return this.#segments.length * segmentBlocks * blockBytes;
  }

  /** Copies a value, and returns its first block, by which it is known. */
  store(value: Uint8Array): number {
    let first = noBlock;
    // from its end, so that each block knows the one that follows
    for (let end = takenBytes(value.length); end > 0; end -= blockBytes) {
      const block = this.#take();
      const { bytes, next } = this.#segmentOf(block);
      const place = block % segmentBlocks;
      // a view costs more than a short value
      const part = value.length <= blockBytes ? value : value.subarray(end - blockBytes, end);
      bytes.set(part, place * blockBytes);
      next[place] = first;
      first = block;
    }
    this.#segmentOf(first).lengths[first % segmentBlocks] = value.length;
    return first;
  }

  /** Bytes of the value that begins in a block. */
  lengthOf(first: number): number {
    return this.#segmentOf(first).lengths[first % segmentBlocks] ?? 0;
  }

  /** A copy of the value that begins in a block. */
  read(first: number): Uint8Array<ArrayBuffer> {
    const length = this.lengthOf(first);
    const value = new Uint8Array(length);
    let block = first;
    for (let offset = 0; offset < length; offset += blockBytes) {
      const { bytes, next } = this.#segmentOf(block);
      const start = (block % segmentBlocks) * blockBytes;
      value.set(bytes.subarray(start, start + Math.min(blockBytes, length - offset)), offset);
      block = next[block % segmentBlocks] ?? noBlock;
    }
    return value;
  }

  /** Gives the blocks of a value back. It must not be read or released again. */
  release(first: number): void {
    for (let block = first; block !== noBlock; ) {
      const { next } = this.#segmentOf(block);
      const following = next[block % segmentBlocks] ?? noBlock;
      next[block % segmentBlocks] = this.#free;
      this.#free = block;
      block = following;
    }
  }

  /** Takes a free block. */
  #take(): number {
    if (this.#free === noBlock) this.#grow();
    const block = this.#free;
    this.#free = this.#segmentOf(block).next[block % segmentBlocks] ?? noBlock;
    return block;
  }

  #grow(): void {
    const start = this.#segments.length * segmentBlocks;
    const next = Int32Array.from({ length: segmentBlocks }, (_, place) => {
      return place + 1 < segmentBlocks ? start + place + 1 : noBlock;
    });
    const bytes = new Uint8Array(segmentBlocks * blockBytes);
    this.#segments.push({ bytes, next, lengths: new Int32Array(segmentBlocks) });
    this.#free = start;
  }

  #segmentOf(block: number): Segment {
    const segment = this.#segments[Math.floor(block / segmentBlocks)];
    if (!segment) throw new RangeError(`Cannot find block ${block}`);
    return segment;
  }
}
