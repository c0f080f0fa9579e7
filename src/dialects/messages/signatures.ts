import { isObject } from "../../lib/json.ts";

/** Marks a signature that belongs to the call after its block: no other signature begins like this. */
const mark = "call:";

/** The signature of a call in the form a thinking block carries: the one field that clients send back unread. */
export function toCallSignature(signature: string): string {
  return mark + signature;
}

/** The signature of a call that a block carries; undefined for blocks with actual reasoning. */
export function readCallSignature(block: unknown): string | undefined {
  if (!isObject(block) || block.type !== "thinking" || typeof block.signature !== "string") return undefined;
  return block.signature.startsWith(mark) ? block.signature.slice(mark.length) : undefined;
}
