import * as v from "valibot";
import { readGuardrailContent } from "../../control/guardrail-library.ts";
import type { GuardrailRow } from "../../db/tables/guardrails.ts";
import type { ListOptions, Tenant } from "../../db/tenant-store.ts";
import { requireScopes } from "../../endpoint/role.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { ConflictError, InvalidRequestError } from "../../errors.ts";
import type { SavedGuardrail } from "../../guardrails/read-hooks.ts";
import {
  CreatedGuardrail,
  CreateGuardrail,
  GuardrailContent,
  GuardrailList,
  GuardrailSummary,
  ShownGuardrail,
  UpdatedGuardrail,
  UpdateGuardrail,
} from "../../schemas/guardrails.ts";
import type { AdminCall, AnswerOf } from "../core/endpoint.ts";
import { type Direction, phaseOf } from "../core/named-records.ts";
import { defineRecord } from "../core/record.ts";
import type { Found, NewPlace } from "../core/record-definitions.ts";
import { forbid, isRecordId, namedWorkspace, readTenant, refuseField, requireFound } from "../core/request.ts";
import { openVersion, removeSecrets, requireSecrets, sealVersion } from "../core/sealed-versions.ts";
import { shownBy } from "../core/shown-row.ts";
import { readServerMappings, showMapping } from "./guardrail-mappings.ts";
import { findUses } from "./guardrail-uses.ts";

/** The level of a route: guardrails of workspaces and the organisation, or the organisation's only. */
type Level = "any" | "organisation";

/** The scope a key of the organisation needs for a verb on guardrails of a tenant. */
function scopeOf({ workspaceId }: Pick<Tenant, "workspaceId">, verb: string): string {
  return `${workspaceId === null ? "organisation_guardrails" : "guardrails"}.${verb}`;
}

/**
 * The tenant a call is about.
 *
 * @throws {InvalidRequestError} AB01 for a workspace on a route of the organisation.
 */
async function readPlace(call: AdminCall<unknown>, level: Level): Promise<Tenant> {
  const tenant = await readTenant(call, namedWorkspace(call));
  if (level === "organisation" && tenant.workspaceId !== null) {
    refuseField("workspace_id", "cannot be given: these guardrails are the organisation's");
  }
  return tenant;
}

/**
 * The guardrail a path names. Keys of a workspace see the organisation's too, and change only their own.
 *
 * @throws {NotFoundError} AB08
 * @throws {PermissionError} AB03 if the key lacks the scope for it.
 */
export async function findGuardrail(call: AdminCall<unknown>, level: Level, verb: string): Promise<GuardrailRow> {
  const tenant = await readPlace(call, level);
  const found = await call.stores.guardrails.get(tenant, call.params.id ?? "", { includeOrganisation: true });
  const isHere = level === "any" || found?.workspaceId === null;
  const row = requireFound(isHere ? found : undefined, "guardrail");
  const isShared = call.tenant.workspaceId !== null && row.workspaceId === null;
  if (isShared && verb !== "read") forbid("Only keys of the organisation change its guardrails");
  if (!isShared) await requireScopes(call.context, [scopeOf(row, verb)]);
  return row;
}

/**
 * A valid content, in clear.
 *
 * @param uses Directions it is already used in.
 * @throws {InvalidRequestError} AB01, naming everything that is wrong with it.
 */
function toContent(
  { checks, actions }: SavedGuardrail,
  { context: { services } }: AdminCall<unknown>,
  uses: readonly Direction[] = [],
): SavedGuardrail {
  const content = { checks, actions };
  const own = services.guardrails.findSavedProblems(content);
  const problems =
    own.length > 0
      ? own
      : uses.flatMap((direction) => services.guardrails.findSavedProblems(content, phaseOf[direction]));
  const [first] = problems;
  if (!first) return content;
  const errors = problems.map(({ path, message }) => `path: ${path}, message: ${message}`);
  throw new InvalidRequestError(`Invalid request: ${errors.slice(0, 3).join("; ")}`, {
    code: "AB01",
    param: first.path,
    errors: errors.slice(0, 50),
  });
}

/** Warnings about the saved content; absent without warnings. */
function toWarnings(
  saved: SavedGuardrail,
  { context: { services } }: AdminCall<unknown>,
): { warnings?: readonly string[] } {
  const warnings = services.guardrails.findSavedWarnings(saved);
  return warnings.length > 0 ? { warnings } : {};
}

const toSummary = shownBy(GuardrailSummary, (_row: GuardrailRow) => ({}));

/** Ids a list is filtered by; undefined for all. */
function readIds(query: URLSearchParams): string[] | undefined {
  const text = query.get("ids") ?? "";
  if (text === "") return undefined;
  const ids = text.split(",").map((id) => id.trim().toLowerCase());
  if (ids.length > 1_000) refuseField("ids", "must have at most 1000 entries");
  return ids.filter(isRecordId);
}

/** Rows a list shows: those of the levels the key may list. A key of a workspace lists those it may use. */
function listedRows({ query, tenant, context }: AdminCall<undefined>, level: Level): ListOptions<GuardrailRow> {
  const { scopes } = context.principal;
  const showsShared = tenant.workspaceId !== null || scopes.has("organisation_guardrails.list");
  const showsOwn = level === "any" && scopes.has("guardrails.list");
  const ids = readIds(query);
  return {
    where: { status: "active" as const, ...(ids && { id: ids }), ...(!showsOwn && { workspaceId: null }) },
    ...(!showsShared && { present: ["workspaceId"] }),
    includeOrganisation: true,
  };
}

/** The checks of a guardrail as a caller sees them: workspaces do not see parameters of the organisation's. */
function showChecks(
  { tenant }: AdminCall<unknown>,
  row: GuardrailRow,
  checks: GuardrailContent["checks"],
): ShownGuardrail["checks"] {
  if (tenant.workspaceId === null || row.workspaceId !== null) return checks;
  return checks.map(({ parameters: _, ...shown }) => shown);
}

/** The content of the current version, secrets masked. */
async function readContent({ stores }: AdminCall<unknown>, row: GuardrailRow): Promise<GuardrailContent> {
  const version = await stores.guardrailVersions.get(row, row.versionId);
  const content = version && readGuardrailContent(version);
  return requireFound(v.is(GuardrailContent, content) ? content : undefined, "guardrail");
}

async function readGuardrail(row: GuardrailRow, call: AdminCall<undefined>): Promise<AnswerOf<typeof ShownGuardrail>> {
  const { checks, actions } = await readContent(call, row);
  return {
    ...toSummary(row),
    version_id: row.versionId,
    checks: showChecks(call, row, checks),
    actions,
    mcp_server_mappings: (await readServerMappings(call, call.tenant, row)).map(showMapping),
  };
}

/** A content as a new version of its guardrail, and the statements that write it. */
async function toVersion(call: AdminCall<unknown>, guardrailId: string, tenant: Tenant, saved: SavedGuardrail) {
  const { id, content, sealed } = await sealVersion(call, { ...tenant, kind: "guardrails" }, saved);
  const { organisationId, workspaceId } = tenant;
  const row = { id, organisationId, workspaceId, guardrailId, content, ownerId: call.actor, createdAt: call.now };
  return { id, statements: [call.stores.guardrailVersions.insert(tenant, row), ...sealed] };
}

async function createGuardrail(call: AdminCall<CreateGuardrail>, { tenant, id, slug }: NewPlace<"guardrails">) {
  const { body, actor } = call;
  await requireScopes(call.context, [scopeOf(tenant, "create")]);
  const checks = requireSecrets(call, body.checks, undefined, "checks") as typeof body.checks; // the same with masks for secrets
  const version = await toVersion(call, id, tenant, toContent({ ...body, checks }, call));
  return {
    answer: { id, slug, version_id: version.id, object: "guardrail" as const, ...toWarnings(body, call) },
    columns: {
      name: body.name,
      target: body.target,
      status: "active" as const,
      versionId: version.id,
      ownerId: actor,
    },
    statements: version.statements,
  };
}

async function updateGuardrail(call: AdminCall<UpdateGuardrail>, { row, tenant }: Found<"guardrails">) {
  const { body, stores, actor } = call;
  if (body.target !== undefined && body.target !== row.target) refuseField("target", "cannot be changed");
  const current = requireFound(await stores.guardrailVersions.get(row, row.versionId), "guardrail");
  const former = await openVersion(call, "guardrails", current);
  const { checks, actions } = readGuardrailContent({ content: JSON.stringify(former) });
  const given = body.checks && requireSecrets(call, body.checks, checks, "checks");
  const wanted = { checks: (given as typeof body.checks) ?? checks, actions: body.actions ?? actions }; // as above
  const isSame = JSON.stringify(wanted) === JSON.stringify(former);
  // whatever names it already must keep working
  const uses = isSame ? [] : (await findUses(call, row)).map(({ direction }) => direction);
  const version = isSame
    ? undefined
    : await toVersion(call, row.id, tenant, toContent(wanted, call, [...new Set(uses)]));
  const versionId = version?.id ?? row.versionId;
  return {
    answer: { id: row.id, slug: row.slug, version_id: versionId, ...toWarnings(wanted, call) },
    columns: { name: body.name, versionId, updatedBy: actor },
    statements: version?.statements ?? [],
  };
}

/** @throws {ConflictError} If something uses the guardrail. */
async function refuseInUse(call: AdminCall<unknown>, row: GuardrailRow): Promise<void> {
  const holders = [...new Set((await findUses(call, row)).map(({ holder }) => holder))];
  if (holders.length === 0) return;
  const more = holders.length > 3 ? ` and ${holders.length - 3} more` : "";
  const named = `${holders.slice(0, 3).join(", ")}${more}`;
  throw new ConflictError(`Cannot delete this guardrail: it is used by ${named}`, { code: "AB07" });
}

/** The endpoints of one level; the words name its records in summaries. */
function defineGuardrails(level: Level, path: string, words: { one: string; many: string }): AdminEndpoint[] {
  const guardrails = defineRecord({
    tag: "Guardrails",
    path,
    words,
    noun: "guardrail",
    store: "guardrails",
    audit: "guardrails",
    access: (verb) => ({
      keys: level === "any" ? "any" : "admin",
      scopes: [...(level === "any" ? [`guardrails.${verb}`] : []), `organisation_guardrails.${verb}`],
    }),
    find: (call, verb) => findGuardrail(call, level, verb),
  });
  return [
    guardrails.list({
      response: GuardrailList,
      page: 100,
      ofWorkspaces: level === "any" ? "Guardrails this workspace may use, for keys of the organisation" : "",
      query: [{ name: "ids", description: "Comma-separated ids" }],
      tenant: (call) => readPlace(call, level),
      select: (call) => listedRows(call, level),
      show: (rows) => rows.map(toSummary),
    }),
    guardrails.create({
      body: CreateGuardrail,
      response: CreatedGuardrail,
      slug: { prefix: "pg" },
      tenant: (call) => readPlace(call, level),
      decide: createGuardrail,
    }),
    guardrails.show({ response: ShownGuardrail, show: ({ row }, call) => readGuardrail(row, call) }),
    guardrails.change({ body: UpdateGuardrail, response: UpdatedGuardrail, decide: updateGuardrail }),
    guardrails.remove({
      async before(call, { row, tenant }) {
        await refuseInUse(call, row);
        const versions = await call.stores.guardrailVersions.all(tenant, { where: { guardrailId: row.id } });
        return removeSecrets(call, { ...tenant, kind: "guardrails" }, versions);
      },
    }),
  ];
}

/** Endpoints of saved guardrails. */
export const guardrailEndpoints: readonly AdminEndpoint[] = [
  ...defineGuardrails("any", "/v1/guardrails", { one: "a guardrail", many: "saved guardrails" }),
  ...defineGuardrails("organisation", "/v1/admin/v2/guardrails", {
    one: "a guardrail of the organisation",
    many: "guardrails of the organisation",
  }),
];
