import { crc32 } from "../../lib/hash.ts";

/** Longest name that all clients and models accept. */
const maxName = 64;

/** A name of letters, digits, `_` and `-`, at most 64: another one is changed, and ends with six digits of its checksum. */
export function toPlainName(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_-]/g, "_");
  if (plain === name && plain.length <= maxName) return plain;
  const mark = crc32(name).toString(16).padStart(8, "0").slice(-6);
  return `${plain.slice(0, maxName - 7)}_${mark}`;
}
