import { dotModule } from "./dot-code.ts";

/** Most numbers of a vector. */
const maxWidth = 16_384;
/** Rows are this many numbers wide, or a multiple of it. */
const rowUnit = 16;
/** Most rows that are multiplied at a time. */
const maxRows = 8;
/** Addresses in the memory of the module: the query, the sums, the rows. */
const sumsAt = maxWidth * 2;
const rowsAt = sumsAt + maxRows * 4;
const memoryBytes = rowsAt + maxRows * maxWidth;
const pageBytes = 65_536;

/** Numbers of a row for vectors of so many dimensions: the rest of it is 0. */
export function widthOf(dimensions: number): number {
  return Math.ceil(dimensions / rowUnit) * rowUnit;
}

/** Multiplies rows of 8-bit numbers with a query of 16-bit numbers. */
export interface DotKernel {
  /** Takes a query, as wide as the rows. It stays until the next one. */
  load(query: Int16Array): void;
  /**
   * The sums of the products of the query and each row, until the next call. They must fit into 32 bits.
   *
   * @param rows At most 8, one after the other.
   */
  dots(rows: Int8Array): Int32Array;
}

/** The kernel in WebAssembly. */
function createFastKernel(): DotKernel {
  const module = new WebAssembly.Module(dotModule(Math.ceil(memoryBytes / pageBytes)));
  // what the module exports
  const { memory, dots } = new WebAssembly.Instance(module).exports as {
    memory: WebAssembly.Memory;
    dots: (row: number, width: number, out: number, last: number) => void;
  };
  const queries = new Int16Array(memory.buffer, 0, maxWidth);
  const sums = new Int32Array(memory.buffer, sumsAt, maxRows);
  const places = new Int8Array(memory.buffer, rowsAt, maxRows * maxWidth);
  let width = rowUnit;
  return {
    load(query) {
      queries.set(query);
      width = query.length;
    },
    dots(rows) {
      places.set(rows);
      dots(rowsAt, width, sumsAt, sumsAt + (rows.length / width) * 4);
      return sums;
    },
  };
}

/** The same without WebAssembly. */
export function createPlainKernel(): DotKernel {
  const sums = new Int32Array(maxRows);
  const query = new Int16Array(maxWidth);
  let width = rowUnit;
  return {
    load(given) {
      query.set(given);
      width = given.length;
    },
    dots(rows) {
      for (let row = 0, offset = 0; offset < rows.length; row++, offset += width) {
        let sum = 0;
        for (let index = 0; index < width; index++) {
          sum = (sum + (rows[offset + index] as number) * (query[index] as number)) | 0; // within both arrays
        }
        sums[row] = sum;
      }
      return sums;
    },
  };
}

/** The fastest kernel that the host can run: some have no WebAssembly, or none with vectors. */
export function createDotKernel(): DotKernel {
  try {
    return createFastKernel();
  } catch {
    return createPlainKernel();
  }
}
