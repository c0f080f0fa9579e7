import { isObject } from "../lib/json.ts";

/** A block of a message: reasoning, text, or the place of a call. */
type Block = Record<string, unknown>;

/**
 * The place of a tool call among the blocks of a message. The call itself is in `tool_calls`. Models that reason between their
 * calls need the blocks back in their order (https://docs.claude.com/en/docs/build-with-claude/extended-thinking).
 */
export const callPlace = (id: unknown): Block => ({ type: "tool_use", id });

/** Whether a block is the place of a call, not a call itself. */
export function isCallPlace(block: unknown): boolean {
  return isObject(block) && block.type === "tool_use" && block.name === undefined;
}

/** Whether a content part is reasoning, readable or encrypted. */
export function isReasoningPart(part: unknown): boolean {
  return isObject(part) && (part.type === "thinking" || part.type === "redacted_thinking");
}

/** The blocks without the places of calls that nothing follows: these calls come last anyway. */
export function trimPlaces<Item>(blocks: readonly Item[]): Item[] {
  const last = blocks.findLastIndex((block) => !isCallPlace(block));
  return blocks.slice(0, last + 1);
}

/** The blocks without places of calls, for APIs in which calls stand apart. */
export function withoutPlaces<Item>(blocks: readonly Item[]): Item[] {
  return blocks.filter((block) => !isCallPlace(block));
}

/**
 * Blocks and calls in one order: each call at its place, and those without a place at the end.
 *
 * @param toBlocks The blocks that stand for one call.
 */
export function placeCalls<Item>(
  blocks: readonly Item[],
  calls: readonly unknown[],
  toBlocks: (call: unknown) => readonly Item[],
): Item[] {
  const left = new Map(calls.map((call) => [isObject(call) ? call.id : undefined, call]));
  const placed = blocks.flatMap((block): readonly Item[] => {
    if (!isCallPlace(block)) return [block];
    const id = isObject(block) ? block.id : undefined;
    const call = left.get(id);
    return left.delete(id) ? toBlocks(call) : [];
  });
  return [...placed, ...[...left.values()].flatMap(toBlocks)];
}

/** The text of a part of a content; empty for parts of other kinds. */
export function textOfPart(part: unknown): string {
  return isObject(part) && typeof part.text === "string" ? part.text : "";
}
