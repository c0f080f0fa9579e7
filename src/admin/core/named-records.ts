import { readUsableGuardrails, type StoredGuardrail } from "../../control/guardrail-library.ts";
import type { ConfigRow } from "../../db/tables/configs.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import type { Phase } from "../../guardrails/types.ts";
import type { AdminCall } from "./endpoint.ts";
import { refuseField, requireReferenced } from "./request.ts";

/**
 * The saved config a body refers to by id or slug; it must be active and of the same workspace.
 *
 * @throws {NotFoundError} AB02, naming the field.
 */
export async function requireConfig(
  { stores }: AdminCall<unknown>,
  tenant: Tenant & { workspaceId: string },
  reference: { name: string; param: string },
): Promise<ConfigRow> {
  const row = await stores.configs.get(tenant, reference.name);
  return requireReferenced(row?.status === "active" ? row : undefined, reference.param);
}

/** The guardrail with this name: an id, or a slug, of the workspace's guardrails before the organisation's. */
function findGuardrail(usable: readonly StoredGuardrail[], name: string): StoredGuardrail | undefined {
  return usable.find(({ row }) => row.id === name) ?? usable.findLast(({ row }) => row.slug === name);
}

/** Names, ids or slugs, without a guardrail in the workspace or its organisation. */
export async function findUnknownGuardrails(
  { stores }: Pick<AdminCall<unknown>, "stores">,
  tenant: Tenant,
  names: readonly string[],
): Promise<string[]> {
  if (names.length === 0) return [];
  const usable = await readUsableGuardrails(stores, tenant);
  return names.filter((name) => findGuardrail(usable, name) === undefined);
}

/** A guardrail's direction: requests, or responses. */
export type Direction = "input" | "output";

export const directions: readonly Direction[] = ["input", "output"];

/** When the guardrails of a direction run. */
export const phaseOf: Readonly<Record<Direction, Phase>> = {
  input: "beforeRequestHook",
  output: "afterRequestHook",
};

/** Guardrails a body names. */
interface GuardrailNames {
  /** Ids or slugs. */
  names: readonly string[];
  direction: Direction;
  /** The field that names them. */
  param: string;
}

/**
 * Ids of the guardrails that defaults of a workspace name; without a workspace, only the organisation's count.
 *
 * @throws {NotFoundError} AB02, naming the unknown entry.
 * @throws {InvalidRequestError} AB01, naming the entry with a check that cannot run in this direction.
 */
export async function requireGuardrails(
  { stores, context: { services } }: AdminCall<unknown>,
  tenant: Tenant,
  { names, direction, param }: GuardrailNames,
): Promise<string[]> {
  const usable = names.length === 0 ? [] : await readUsableGuardrails(stores, tenant, ["llm", "mcp_tools"]);
  const ids = names.map((name, index) => {
    const entry = `${param}.${index}`;
    const { row, checks, actions } = requireReferenced(findGuardrail(usable, name), entry);
    const problems = services.guardrails.findSavedProblems({ checks, actions }, phaseOf[direction]);
    if (problems.length === 0) return row.id;
    const listed = problems.slice(0, 3).map(({ path, message }) => `path: ${path}, message: ${message}`);
    return refuseField(entry, `${row.slug} cannot be used here: ${listed.join("; ")}`);
  });
  return [...new Set(ids)];
}
