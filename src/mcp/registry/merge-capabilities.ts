import { toCanonical } from "../../../packages/json-schema/src/schema.ts";
import type { Statement } from "../../db/client.ts";
import type { ControlStores } from "../../db/stores/control.ts";
import type { JsonValue } from "../../db/tables/columns.ts";
import type { McpCapabilityRow, McpIntegrationRow } from "../../db/tables/mcp.ts";
import { stringOf } from "../../lib/json.ts";
import { isPinned, pinnedDigest } from "./definitions.ts";
import type { CapabilityKind } from "./mcp-server.ts";
import { listForms, type ReadList } from "./read-upstream.ts";

/** Longest definition that is stored, in characters of its JSON, and longest name. */
const maxDefinitionLength = 256 * 1024;
const maxNameLength = 2_048;
/** Most capabilities of an integration. */
const maxCapabilities = 5_000;

/** What a sync found of one capability. */
interface Found {
  readonly kind: CapabilityKind;
  readonly name: string;
  readonly definition: JsonValue;
  readonly digest: string;
}

/** What a sync writes, and what it left out. */
interface Merged {
  readonly statements: readonly Statement[];
  /** Definitions that are too large, or more than an integration may have. */
  readonly leftOut: number;
}

/** What a sync is for. */
interface MergeParts {
  readonly stores: Pick<ControlStores, "mcpCapabilities">;
  readonly row: McpIntegrationRow;
  /** Unix milliseconds. */
  readonly now: number;
}

/** A capability's identity among those of its integration. */
function keyOf({ kind, name }: { kind: string; name: string }): string {
  return `${kind} ${name}`;
}

/** The capabilities of lists that can be stored, the first of each name. */
async function findUsable(lists: readonly ReadList[]): Promise<{ found: Map<string, Found>; leftOut: number }> {
  const found = new Map<string, Found>();
  let leftOut = 0;
  for (const { kind, items } of lists) {
    const nameMember = listForms.find((form) => form.kind === kind)?.name ?? "name";
    for (const item of items) {
      const name = stringOf(item[nameMember]) ?? "";
      const text = JSON.stringify(item);
      const fits = name !== "" && name.length <= maxNameLength && !name.includes("\0");
      if (!fits || text.length > maxDefinitionLength) leftOut++;
      else if (!found.has(keyOf({ kind, name }))) {
        const definition: JsonValue = JSON.parse(text); // what JSON.stringify wrote
        found.set(keyOf({ kind, name }), { kind, name, definition, digest: await pinnedDigest(kind, item) });
      }
    }
  }
  return { found, leftOut };
}

/** How a stored capability changes; undefined where it does not. */
function changesOf(stored: McpCapabilityRow, { kind, definition, digest }: Found, approvesNew: boolean) {
  const isSame = stored.isListed && toCanonical(stored.definition) === toCanonical(definition);
  const wasApproved = stored.approvedHash !== null && stored.approvedHash === stored.definitionHash;
  if (isSame && stored.definitionHash === digest) return undefined;
  const base = { definition, definitionHash: digest, isListed: true };
  // one that was only switched before is new
  const isFirst = stored.definitionHash === null && approvesNew;
  if (!isPinned(kind) || isFirst) return { ...base, approvedHash: digest, approvedDefinition: null };
  if (stored.approvedHash === digest) return { ...base, approvedDefinition: null };
  return wasApproved ? { ...base, approvedDefinition: stored.definition } : base;
}

/** How long the first lists of a server that is only seen through its callers are trusted. */
const firstListsMs = 10 * 60_000;

/**
 * Whether new capabilities of a kind are approved: who adds an integration trusts what it offers then. Servers that the
 * gateway cannot sync itself are known from pages of lists, which do not all come at once.
 */
function approvalOfNew(
  rows: readonly McpCapabilityRow[],
  { isFirst, now }: { isFirst: boolean; now: number },
): (kind: CapabilityKind) => boolean {
  const firstSeen = new Map<string, number>();
  for (const { type, definitionHash, createdAt } of rows) {
    if (definitionHash !== null) firstSeen.set(type, Math.min(createdAt, firstSeen.get(type) ?? createdAt));
  }
  return (kind) => isFirst && now - (firstSeen.get(kind) ?? now) < firstListsMs;
}

/**
 * Statements that store what a server offers. Switches stay, and a changed definition does not replace the approved one.
 *
 * @param rows The stored capabilities of the integration.
 */
export async function mergeCapabilities(
  lists: readonly ReadList[],
  rows: readonly McpCapabilityRow[],
  { stores, row: { id: integrationId, organisationId, lastSyncedAt }, now }: MergeParts,
): Promise<Merged> {
  const tenant = { organisationId, workspaceId: null };
  const { found, leftOut } = await findUsable(lists);
  const stored = new Map(rows.map((row) => [keyOf({ kind: row.type, name: row.name }), row]));
  const approves = approvalOfNew(rows, { isFirst: lastSyncedAt === null, now });
  const statements: Statement[] = [];
  let room = maxCapabilities - rows.length;
  let refused = 0;
  for (const one of found.values()) {
    const former = stored.get(keyOf(one));
    if (former) {
      const changes = changesOf(former, one, approves(one.kind));
      if (!changes) continue;
      const written = { ...changes, lastUpdatedAt: now };
      statements.push(stores.mcpCapabilities.update(tenant, { id: former.id }, written));
    } else if (room-- > 0) {
      const { kind: type, name, definition, digest } = one;
      const approvedHash = approves(type) || !isPinned(type) ? digest : null;
      const values = { type, name, definition, definitionHash: digest, approvedHash, createdAt: now };
      const id = crypto.randomUUID();
      statements.push(stores.mcpCapabilities.insert(tenant, { id, organisationId, integrationId, ...values }));
    } else refused++;
  }
  const complete = new Set<string>(lists.flatMap(({ kind, isComplete }) => (isComplete ? [kind] : [])));
  const gone = rows.filter(
    ({ type, name, isListed }) => isListed && complete.has(type) && !found.has(keyOf({ kind: type, name })),
  );
  for (const { id } of gone) {
    statements.push(stores.mcpCapabilities.update(tenant, { id }, { isListed: false, lastUpdatedAt: now }));
  }
  return { statements, leftOut: leftOut + refused };
}
