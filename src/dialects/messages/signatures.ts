import { isObject } from "../../lib/json.ts";

/** Marks a signature that belongs to the call behind its block: no other one begins so. */
const mark = "call:";

/** The signature a block of thought carries for a call: these blocks are the one place clients send back unread. */
export function toCallSignature(signature: string): string {
  return mark + signature;
}

/** The signature of a call that a block carries, undefined for blocks with a thought of their own. */
export function readCallSignature(block: unknown): string | undefined {
  if (!isObject(block) || block.type !== "thinking" || typeof block.signature !== "string") return undefined;
  return block.signature.startsWith(mark) ? block.signature.slice(mark.length) : undefined;
}
