import type { ControlStores } from "../db/stores/control.ts";
import type { GuardrailRow, GuardrailVersionRow } from "../db/tables/guardrails.ts";
import type { OrganisationRow, WorkspaceRow } from "../db/tables/tenants.ts";
import type { Tenant } from "../db/tenant-store.ts";
import type { SavedGuardrail } from "../guardrails/read-hooks.ts";
import { isObject, parseJson } from "../lib/json.ts";
import type { ContentOpener } from "./sealed-contents.ts";
import { toRecord } from "./settings.ts";

/** A saved guardrail with its current content. */
export interface StoredGuardrail extends SavedGuardrail {
  row: GuardrailRow;
}

/** Ids of the guardrails for every request of a workspace, in the order they run. */
interface DefaultGuardrails {
  input: readonly string[];
  output: readonly string[];
}

/** Guardrails of a workspace, in memory. */
export interface GuardrailLibrary {
  /** By slug and by id: the workspace's and the organisation's; those for tools are left out. */
  guardrails: ReadonlyMap<string, StoredGuardrail>;
  defaultGuardrails: DefaultGuardrails;
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

/**
 * Guardrails that a workspace may use, the organisation's first; for the organisation only its own.
 *
 * @param opener Decrypts secrets; without it, or if that fails, masks take their place.
 */
export async function readUsableGuardrails(
  stores: ControlStores,
  tenant: Tenant,
  opener?: ContentOpener,
): Promise<StoredGuardrail[]> {
  const { organisationId, workspaceId } = tenant;
  const where = { status: "active", target: "llm", ...(workspaceId === null && { workspaceId: null }) };
  const rows = await stores.guardrails.all(tenant, { where, includeOrganisation: true });
  const versions = await stores.guardrailVersions.all(
    { organisationId, workspaceId: null },
    { where: { id: rows.map(({ versionId }) => versionId) } },
  );
  const opened = await opener?.open("guardrails", versions);
  const versionOf = new Map(versions.map(({ id, content }) => [id, { content: opened?.get(id) ?? content }] as const));
  const stored = rows.flatMap((row): StoredGuardrail[] => {
    const version = versionOf.get(row.versionId);
    return version ? [{ row, ...readGuardrailContent(version) }] : [];
  });
  const isShared = ({ row }: StoredGuardrail) => row.workspaceId === null;
  return [...stored.filter(isShared), ...stored.filter((one) => !isShared(one))];
}

/** Reads the guardrails of a workspace. */
export async function readGuardrailLibrary(
  stores: ControlStores,
  tenant: Tenant,
  {
    organisation,
    workspace,
    opener,
  }: { organisation: OrganisationRow; workspace: WorkspaceRow; opener: ContentOpener },
): Promise<GuardrailLibrary> {
  const [usable, exclusions] = await Promise.all([
    readUsableGuardrails(stores, tenant, opener),
    stores.exclusions.all(tenant),
  ]);
  const isExcluded = (direction: string) => exclusions.some((exclusion) => exclusion.direction === direction);
  const defaultsOf = (direction: "input" | "output") => [
    ...new Set([
      ...(isExcluded(direction) ? [] : listDefaultGuardrails(organisation.defaults, direction)),
      ...listDefaultGuardrails(workspace.defaults, direction),
    ]),
  ];
  return {
    // later entries win: the workspace's over the organisation's, ids over slugs
    guardrails: new Map([
      ...usable.map((stored) => [stored.row.slug, stored] as const),
      ...usable.map((stored) => [stored.row.id, stored] as const),
    ]),
    defaultGuardrails: { input: defaultsOf("input"), output: defaultsOf("output") },
  };
}
