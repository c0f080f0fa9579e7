import type { AdminCall } from "../../admin/core/endpoint.ts";
import { readChoice, readPage, readText, toIso } from "../../admin/core/request.ts";
import type { McpCapabilityRow } from "../../db/tables/mcp.ts";
import { isObject } from "../../lib/json.ts";
import { type Capability, capabilityTypes } from "../../schemas/mcp.ts";

/** Control and invisible characters: those that change how text is read without being seen. */
const hidden = /(?![\t\n\r])\p{Cc}|\p{Cf}|\p{Default_Ignorable_Code_Point}/gu;

/** Deepest value whose strings are searched. */
const maxDepth = 64;

/** A value without hidden characters in its strings and names; `count` grows by those that were left out. */
function withoutHidden(value: unknown, found: { count: number }, depth = 0): unknown {
  if (typeof value === "string") {
    return value.replace(hidden, () => {
      found.count++;
      return "";
    });
  }
  if (depth > maxDepth) return null;
  if (Array.isArray(value)) return value.map((one) => withoutHidden(one, found, depth + 1));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      String(withoutHidden(name, found)),
      withoutHidden(one, found, depth + 1),
    ]),
  );
}

/** Whether a definition is the approved one. */
function approvalOf({ definitionHash, approvedHash }: McpCapabilityRow): "approved" | "changed" | "new" {
  if (approvedHash === null && definitionHash !== null) return "new";
  return approvedHash === definitionHash ? "approved" : "changed";
}

/** The members of a definition as operators see them. */
function toShown(stored: unknown, found: { count: number }) {
  const cleaned = withoutHidden(stored ?? {}, found);
  const definition: Record<string, unknown> = isObject(cleaned) ? cleaned : {};
  return {
    title: definition.title ?? null,
    description: definition.description ?? null,
    icons: definition.icons ?? null,
    input_schema: definition.inputSchema ?? null,
    output_schema: definition.outputSchema ?? null,
    execution: definition.execution ?? null,
    annotations: definition.annotations ?? null,
    arguments: definition.arguments ?? null,
    mime_type: definition.mimeType ?? null,
    size: definition.size ?? null,
  };
}

/** A capability as operators see it. */
function toCapability(row: McpCapabilityRow, enabled: boolean): Capability {
  const found = { count: 0 };
  return {
    id: row.id,
    name: shownName(row),
    type: row.type,
    enabled,
    uri: row.type === "resource" ? row.name : null,
    uri_template: row.type === "resource_template" ? row.name : null,
    ...toShown(row.definition, found),
    approval: approvalOf(row),
    approved_definition: isObject(row.approvedDefinition) ? toShown(row.approvedDefinition, { count: 0 }) : null,
    hidden_characters: found.count,
    created_at: toIso(row.createdAt),
    last_updated_at: row.lastUpdatedAt === 0 ? null : toIso(row.lastUpdatedAt),
  };
}

/** Whether lists of the API have a capability: what the server lists, and what was switched off. */
function isShown({ isListed, enabled }: McpCapabilityRow): boolean {
  return isListed || !enabled;
}

/** The name of a capability as lists show it: that of its definition, which resources and templates need not have. */
function shownName({ type, name, definition }: McpCapabilityRow): string {
  const given = isObject(definition) ? definition.name : undefined;
  const isNamed = type !== "tool" && type !== "prompt" && typeof given === "string";
  return isNamed ? String(withoutHidden(given, { count: 0 })) : name;
}

/** The capabilities that a caller means: by name as it is stored (URIs and templates of resources), else as lists show it. */
export function findShown(
  rows: readonly McpCapabilityRow[],
  { type, name }: { type: string; name: string },
): readonly McpCapabilityRow[] {
  const ofType = rows.filter((row) => row.type === type && isShown(row));
  const exact = ofType.filter((row) => row.name === name);
  return exact.length > 0 ? exact : ofType.filter((row) => shownName(row) === name);
}

/** What a list of capabilities is made from. */
interface ListedCapabilities<More> {
  readonly rows: readonly McpCapabilityRow[];
  /** Whether one is switched on where the list is from. */
  isEnabled(row: McpCapabilityRow): boolean;
  /** Further fields of each. */
  more(row: McpCapabilityRow): More;
}

/** A page of capabilities, with the counts of all of them. */
export function listCapabilities<More extends object>(
  { query }: AdminCall<undefined>,
  { rows, isEnabled, more }: ListedCapabilities<More>,
) {
  const type = readChoice(query, "type", capabilityTypes);
  const page = readPage(query, { size: 100, max: 500, page: { name: "page", first: 1 } });
  const listed = rows.filter(isShown);
  const count = (kind: McpCapabilityRow["type"]) => {
    const ofKind = listed.filter((row) => row.type === kind);
    return { total: ofKind.length, enabled: ofKind.filter((row) => isEnabled(row)).length };
  };
  const name = readText(query, "name");
  const wanted = listed
    .filter((row) => (type === undefined || row.type === type) && (name === undefined || shownName(row) === name))
    .toSorted((a, b) => compare(a.type, b.type) || compare(a.name, b.name));
  const shown = wanted.slice(page.offset, page.offset + page.limit);
  return {
    data: shown.map((row) => ({ ...toCapability(row, isEnabled(row)), ...more(row) })),
    counts: {
      tools: count("tool"),
      prompts: count("prompt"),
      resources: count("resource"),
      resource_templates: count("resource_template"),
    },
    total: wanted.length,
    has_more: page.offset + shown.length < wanted.length,
  };
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** The key of a capability among those of one integration or server. */
export function capabilityKey({ type, name }: { type: string; name: string }): string {
  return `${type} ${name}`;
}
