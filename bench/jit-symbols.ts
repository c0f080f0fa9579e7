import { readFileSync } from "node:fs";

/** Machine code that was made while the program ran. */
interface Code {
  start: number;
  end: number;
  name: string;
}

/** Size of the header of every record; a load record goes on with two ids, three numbers and a name. */
const recordHeader = 16;
const nameOffset = 56;

/** Finds the function at an address; undefined where there is no code of the program's own. */
export type SymbolFinder = (address: number) => string | undefined;

/**
 * Reads what Bun writes with `BUN_JSC_useJITDump=1`: the jitdump format
 * (https://github.com/torvalds/linux/blob/master/tools/perf/Documentation/jitdump-specification.txt).
 */
export function readJitDump(file: string): SymbolFinder {
  const bytes = readFileSync(file);
  const codes: Code[] = [];
  for (let offset = bytes.readUInt32LE(8); offset + recordHeader <= bytes.length; ) {
    const size = bytes.readUInt32LE(offset + 4);
    if (size === 0) break;
    if (bytes.readUInt32LE(offset) === 0) {
      const start = Number(bytes.readBigUInt64LE(offset + 32));
      const length = Number(bytes.readBigUInt64LE(offset + 40));
      const nameStart = offset + nameOffset;
      const name = bytes.toString("utf8", nameStart, bytes.indexOf(0, nameStart));
      codes.push({ start, end: start + length, name });
    }
    offset += size;
  }
  // sorting keeps the order of equal ones: what was written later lies behind what it took the place of
  codes.sort((a, b) => a.start - b.start);
  return (address) => {
    let low = 0;
    let high = codes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((codes[middle]?.start ?? 0) <= address) low = middle + 1;
      else high = middle;
    }
    for (let index = low - 1; index >= 0 && index > low - 60; index--) {
      const code = codes[index];
      if (code && address < code.end) return code.name;
    }
    return undefined;
  };
}
