import type { ControlStores } from "../db/stores/control.ts";
import type { GuardrailRow, GuardrailVersionRow } from "../db/tables/guardrails.ts";
import type { ExclusionRow, OrganisationRow, WorkspaceRow } from "../db/tables/tenants.ts";
import { readTogether, type Tenant } from "../db/tenant-store.ts";
import type { SavedGuardrail } from "../guardrails/read-hooks.ts";
import { isObject, parseJson } from "../lib/json.ts";
import type { GuardrailTarget } from "../schemas/guardrails.ts";
import type { ContentOpener } from "./sealed-contents.ts";
import { toRecord } from "./settings.ts";

/** A saved guardrail with its current content. */
export interface StoredGuardrail extends SavedGuardrail {
  row: GuardrailRow;
}

/** Ids of the guardrails for every request of a workspace, in the order they run. */
export interface DefaultGuardrails {
  input: readonly string[];
  output: readonly string[];
}

/** The content of a version. */
export function readGuardrailContent({ content }: Pick<GuardrailVersionRow, "content">): SavedGuardrail {
  const { checks, actions } = toRecord(parseJson(content));
  return { checks: Array.isArray(checks) ? checks : [], actions: isObject(actions) ? actions : {} };
}

/** Ids of the default guardrails of an organisation or workspace for a direction. */
export function listDefaultGuardrails(defaults: unknown, direction: "input" | "output"): string[] {
  const ids = toRecord(defaults)[`${direction}_guardrails`];
  return Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [];
}

/** Guardrails with their contents. Masks stand in what is not among the opened. */
function toStored(
  rows: readonly GuardrailRow[],
  versions: readonly GuardrailVersionRow[],
  opened: ReadonlyMap<string, string> | undefined,
): StoredGuardrail[] {
  const versionOf = new Map(versions.map(({ id, content }) => [id, { content: opened?.get(id) ?? content }] as const));
  return rows.flatMap((row): StoredGuardrail[] => {
    const version = versionOf.get(row.versionId);
    return version ? [{ row, ...readGuardrailContent(version) }] : [];
  });
}

/**
 * Guardrails a workspace may use, the organisation's first; seen from the organisation its own alone. Masks stand in place
 * of their secrets.
 */
export async function readUsableGuardrails(
  stores: Pick<ControlStores, "guardrails" | "guardrailVersions">,
  tenant: Tenant,
  targets: readonly GuardrailTarget[] = ["llm"],
): Promise<StoredGuardrail[]> {
  const { organisationId, workspaceId } = tenant;
  const where = { status: "active" as const, target: targets, ...(workspaceId === null && { workspaceId: null }) };
  const rows = await stores.guardrails.all(tenant, { where, includeOrganisation: true });
  const versions = await stores.guardrailVersions.all(
    { organisationId, workspaceId: null },
    { where: { id: rows.map(({ versionId }) => versionId) } },
  );
  const stored = toStored(rows, versions, undefined);
  const isShared = ({ row }: StoredGuardrail) => row.workspaceId === null;
  return [...stored.filter(isShared), ...stored.filter((one) => !isShared(one))];
}

/** Guardrails of one target, by slug and by id. */
export type GuardrailMap = ReadonlyMap<string, StoredGuardrail>;

type GuardrailStores = Pick<ControlStores, "guardrails" | "guardrailVersions" | "secrets">;

/** Reads the guardrails of one workspace or, without one, those of the organisation itself: those for requests to models. */
export function readGuardrails(stores: GuardrailStores, tenant: Tenant, opener: ContentOpener): Promise<GuardrailMap> {
  return readGuardrailsOf("llm", { stores, opener }, tenant);
}

/** As `readGuardrails`, those for calls of MCP tools. */
export function readToolGuardrails(
  stores: GuardrailStores,
  tenant: Tenant,
  opener: ContentOpener,
): Promise<GuardrailMap> {
  return readGuardrailsOf("mcp_tools", { stores, opener }, tenant);
}

async function readGuardrailsOf(
  target: GuardrailTarget,
  { stores, opener }: { stores: GuardrailStores; opener: ContentOpener },
  { organisationId, workspaceId }: Tenant,
): Promise<GuardrailMap> {
  const { guardrails, guardrailVersions, secrets } = stores;
  const organisation = { organisationId, workspaceId: null };
  const where = { status: "active" as const, target, workspaceId };
  const versionIds = guardrails.values(organisation, "versionId", where);
  const [rows, versions, sealed] = await readTogether([
    guardrails.query(organisation, { where }),
    guardrailVersions.query(organisation, { where: { id: versionIds } }),
    secrets.query(organisation, { where: { kind: "guardrails", recordId: versionIds } }),
  ]);
  const opened = await opener.open("guardrails", versions, sealed);
  const usable = toStored(rows, versions, opened);
  // of equal names the last one counts: an id before a slug
  return new Map([
    ...usable.map((stored) => [stored.row.slug, stored] as const),
    ...usable.map((stored) => [stored.row.id, stored] as const),
  ]);
}

/** Guardrails a workspace may use: of equal names its own counts, and an id before a slug. */
export function joinGuardrails(shared: GuardrailMap, own: GuardrailMap): GuardrailMap {
  const isId = ([name, { row }]: readonly [string, StoredGuardrail]) => name === row.id;
  const all = [...shared, ...own];
  return new Map([...all.filter((entry) => !isId(entry)), ...all.filter(isId)]);
}

/** Ids of the guardrails every request of a workspace passes. */
export function joinDefaultGuardrails(
  organisation: Pick<OrganisationRow, "defaults">,
  workspace: Pick<WorkspaceRow, "defaults">,
  exclusions: readonly Pick<ExclusionRow, "direction">[],
): DefaultGuardrails {
  const isExcluded = (direction: string) => exclusions.some((exclusion) => exclusion.direction === direction);
  const defaultsOf = (direction: "input" | "output") => [
    ...new Set([
      ...(isExcluded(direction) ? [] : listDefaultGuardrails(organisation.defaults, direction)),
      ...listDefaultGuardrails(workspace.defaults, direction),
    ]),
  ];
  return { input: defaultsOf("input"), output: defaultsOf("output") };
}

/** Default guardrails of one target: those that the other target does not have, so that an unknown one stays in both. */
export function withoutOthers({ input, output }: DefaultGuardrails, others: GuardrailMap): DefaultGuardrails {
  const isMeant = (id: string) => !others.has(id);
  return { input: input.filter(isMeant), output: output.filter(isMeant) };
}
