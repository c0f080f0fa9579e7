import * as v from "valibot";
import { readGuardrailContent } from "../../control/guardrail-library.ts";
import type { GuardrailRow } from "../../db/tables/guardrails.ts";
import type { ListOptions, Tenant } from "../../db/tenant-store.ts";
import { requireScopes } from "../../endpoint/role.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { ConflictError, InvalidRequestError } from "../../errors.ts";
import type { SavedGuardrail } from "../../guardrails/read-hooks.ts";
import { isObject } from "../../lib/json.ts";
import {
  CreatedGuardrail,
  CreateGuardrail,
  GuardrailContent,
  GuardrailList,
  type GuardrailSummary,
  ShownGuardrail,
  UpdatedGuardrail,
  UpdateGuardrail,
} from "../../schemas/guardrails.ts";
import { NoContent } from "../../schemas/objects.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import { type Direction, phaseOf } from "../core/named-records.ts";
import {
  createSlug,
  forbid,
  isRecordId,
  readPage,
  readTenant,
  readText,
  refuseField,
  requireFound,
  toIso,
} from "../core/request.ts";
import { openVersion, requireSecrets, sealVersion } from "../core/sealed-versions.ts";
import { readServerMappings, showMapping } from "./guardrail-mappings.ts";
import { findUses } from "./guardrail-uses.ts";

/** The level of a route: guardrails of workspaces and the organisation, or the organisation's only. */
type Level = "any" | "organisation";

/** The scope a key of the organisation needs for a verb on guardrails of a tenant. */
function scopeOf({ workspaceId }: Pick<Tenant, "workspaceId">, verb: string): string {
  return `${workspaceId === null ? "organisation_guardrails" : "guardrails"}.${verb}`;
}

/** The workspace a call names, in its body or its query. */
export function namedPlace({ body, query }: AdminCall<unknown>): unknown {
  return (isObject(body) ? body.workspace_id : undefined) ?? readText(query, "workspace_id");
}

/**
 * The tenant a call is about.
 *
 * @throws {InvalidRequestError} AB01 for a workspace on a route of the organisation.
 */
async function readPlace(call: AdminCall<unknown>, level: Level): Promise<Tenant> {
  const tenant = await readTenant(call, namedPlace(call));
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

function toSummary(row: GuardrailRow): GuardrailSummary {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    target: row.target,
    organisation_id: row.organisationId,
    workspace_id: row.workspaceId,
    status: row.status,
    owner_id: row.ownerId,
    updated_by: row.updatedBy,
    created_at: toIso(row.createdAt),
    last_updated_at: toIso(row.lastUpdatedAt || row.createdAt),
    object: "guardrail",
  };
}

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

async function listGuardrails(call: AdminCall<undefined>, level: Level): Promise<AnswerOf<typeof GuardrailList>> {
  const tenant = await readPlace(call, level);
  const page = readPage(call.query, { size: 100 });
  const { rows, total } = await call.stores.guardrails.list(tenant, { ...listedRows(call, level), page });
  return { data: rows.map(toSummary), total };
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

async function readGuardrail(call: AdminCall<undefined>, level: Level): Promise<AnswerOf<typeof ShownGuardrail>> {
  const row = await findGuardrail(call, level, "read");
  const { checks, actions } = await readContent(call, row);
  return {
    ...toSummary(row),
    version_id: row.versionId,
    checks: showChecks(call, row, checks),
    actions,
    mcp_server_mappings: (await readServerMappings(call, call.tenant, row)).map(showMapping),
  };
}

async function createGuardrail(
  call: AdminCall<CreateGuardrail>,
  level: Level,
): Promise<Outcome<AnswerOf<typeof CreatedGuardrail>>> {
  const { body, stores, now, actor } = call;
  const tenant = await readPlace(call, level);
  await requireScopes(call.context, [scopeOf(tenant, "create")]);
  const checks = requireSecrets(call, body.checks, undefined, "checks") as typeof body.checks; // the same with masks for secrets
  const id = crypto.randomUUID();
  const versionId = crypto.randomUUID();
  const place = { ...tenant, kind: "guardrails", recordId: versionId } as const;
  const { text: content, sealed } = await sealVersion(call, place, toContent({ ...body, checks }, call));
  const slug = createSlug(body.name, { prefix: "pg" });
  const row = {
    id,
    ...tenant,
    slug,
    name: body.name,
    target: body.target,
    status: "active" as const,
    versionId,
    ownerId: actor,
    createdAt: now,
    lastUpdatedAt: now,
  };
  const version = { id: versionId, ...tenant, guardrailId: id, content, ownerId: actor, createdAt: now };
  return {
    answer: { id, slug, version_id: versionId, object: "guardrail", ...toWarnings(body, call) },
    recordId: id,
    statements: [stores.guardrails.insert(tenant, row), stores.guardrailVersions.insert(tenant, version), ...sealed],
  };
}

async function updateGuardrail(
  call: AdminCall<UpdateGuardrail>,
  level: Level,
): Promise<Outcome<AnswerOf<typeof UpdatedGuardrail>>> {
  const { body, stores, now, actor } = call;
  const row = await findGuardrail(call, level, "update");
  const { organisationId, workspaceId } = row;
  if (body.target !== undefined && body.target !== row.target) refuseField("target", "cannot be changed");
  const current = requireFound(await stores.guardrailVersions.get(row, row.versionId), "guardrail");
  const former = await openVersion(call, "guardrails", current);
  const { checks, actions } = readGuardrailContent({ content: JSON.stringify(former) });
  const given = body.checks && requireSecrets(call, body.checks, checks, "checks");
  const wanted = { checks: (given as typeof body.checks) ?? checks, actions: body.actions ?? actions }; // as above
  const isSame = JSON.stringify(wanted) === JSON.stringify(former);
  // whatever names it already must keep working
  const uses = isSame ? [] : (await findUses(call, row)).map(({ direction }) => direction);
  const versionId = isSame ? row.versionId : crypto.randomUUID();
  const place = { organisationId, workspaceId, kind: "guardrails", recordId: versionId } as const;
  const meant = isSame ? {} : toContent(wanted, call, [...new Set(uses)]);
  const { text: content, sealed } = await sealVersion(call, place, meant);
  const version = {
    id: versionId,
    organisationId,
    workspaceId,
    guardrailId: row.id,
    content,
    ownerId: actor,
    createdAt: now,
  };
  const changes = { name: body.name, versionId, updatedBy: actor, lastUpdatedAt: now };
  return {
    answer: { id: row.id, slug: row.slug, version_id: versionId, ...toWarnings(wanted, call) },
    recordId: row.id,
    statements: [
      ...(isSame ? [] : [stores.guardrailVersions.insert(row, version), ...sealed]),
      stores.guardrails.update(row, { id: row.id, workspaceId }, changes),
    ],
  };
}

async function deleteGuardrail(call: AdminCall<undefined>, level: Level) {
  const row = await findGuardrail(call, level, "delete");
  const holders = [...new Set((await findUses(call, row)).map(({ holder }) => holder))];
  if (holders.length > 0) {
    const more = holders.length > 3 ? ` and ${holders.length - 3} more` : "";
    const named = `${holders.slice(0, 3).join(", ")}${more}`;
    throw new ConflictError(`Cannot delete this guardrail: it is used by ${named}`, { code: "AB07" });
  }
  const versions = await call.stores.guardrailVersions.all(row, { where: { guardrailId: row.id } });
  const ids = versions.map(({ id }) => id);
  // records of the organisation are named as such: a tenant without a workspace means all workspaces
  const { id, workspaceId } = row;
  return {
    answer: {},
    recordId: id,
    statements: [
      ...(ids.length > 0 ? [call.stores.secrets.remove(row, { workspaceId, kind: "guardrails", recordId: ids })] : []),
      call.stores.guardrails.remove(row, { id, workspaceId }),
    ],
  };
}

const audit = (action: string) => ({ resource: "guardrails", action, store: "guardrails" as const });

/** The endpoints of one level; the words name its records in summaries. */
function defineGuardrails(level: Level, all: string, words: { one: string; many: string }): AdminEndpoint[] {
  const row = { tag: "Guardrails" };
  const one = `${all}/:id`;
  const access = (verb: string) => ({
    keys: level === "any" ? ("any" as const) : ("admin" as const),
    scopes: [...(level === "any" ? [`guardrails.${verb}`] : []), `organisation_guardrails.${verb}`],
  });
  return [
    defineRead({
      ...row,
      method: "GET",
      path: all,
      summary: `List ${words.many}`,
      access: access("list"),
      query: [
        ...(level === "any"
          ? [{ name: "workspace_id", description: "Guardrails this workspace may use, for keys of the organisation" }]
          : []),
        { name: "ids", description: "Comma-separated ids" },
        { name: "current_page", description: "Counted from 0" },
        { name: "page_size", description: "1 to 1000; default 100" },
      ],
      response: GuardrailList,
      handle: (call) => listGuardrails(call, level),
    }),
    defineWrite({
      ...row,
      method: "POST",
      path: all,
      summary: `Create ${words.one}`,
      access: access("create"),
      audit: audit("create"),
      body: CreateGuardrail,
      response: CreatedGuardrail,
      handle: (call) => createGuardrail(call, level),
    }),
    defineRead({
      ...row,
      method: "GET",
      path: one,
      summary: `Show ${words.one}`,
      access: access("read"),
      response: ShownGuardrail,
      handle: (call) => readGuardrail(call, level),
    }),
    defineWrite({
      ...row,
      method: "PUT",
      path: one,
      summary: `Change ${words.one}`,
      access: access("update"),
      audit: audit("update"),
      body: UpdateGuardrail,
      response: UpdatedGuardrail,
      handle: (call) => updateGuardrail(call, level),
    }),
    defineWrite({
      ...row,
      method: "DELETE",
      path: one,
      summary: `Delete ${words.one}`,
      access: access("delete"),
      audit: audit("delete"),
      response: NoContent,
      handle: (call) => deleteGuardrail(call, level),
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
