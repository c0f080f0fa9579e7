import { toCanonical } from "../../../packages/json-schema/src/schema.ts";
import { sha256Hex } from "../../lib/hash.ts";
import { isSameJson } from "../../lib/same-json.ts";
import type { CapabilityKind } from "./mcp-server.ts";

/** What is pinned of a definition, by kind. Resources are data: theirs change all the time. */
const pinnedMembers: Readonly<Record<CapabilityKind, readonly string[]>> = {
  tool: ["name", "description", "inputSchema", "annotations"],
  prompt: ["name", "description", "arguments"],
  resource: [],
  resource_template: [],
};

/** Whether changed definitions of a kind need approval. */
export function isPinned(kind: CapabilityKind): boolean {
  return pinnedMembers[kind].length > 0;
}

type Definition = Readonly<Record<string, unknown>>;

/** Digest of the pinned part of a definition: SHA-256 of its canonical JSON, hexadecimal. */
export function pinnedDigest(kind: CapabilityKind, definition: Definition): Promise<string> {
  const members = pinnedMembers[kind].map((member) => [member, definition[member] ?? null]);
  return sha256Hex(toCanonical(Object.fromEntries(members)));
}

/** Whether the pinned parts of two definitions are equal. */
export function isSamePinned(kind: CapabilityKind, a: Definition, b: Definition): boolean {
  return pinnedMembers[kind].every((member) => isSameJson(a[member] ?? null, b[member] ?? null));
}
