import type { RequestContext } from "../../context.ts";
import { contentReply } from "../../control/files/content-reply.ts";
import { deniedFieldsOf } from "../../control/log-visibility.ts";
import type { LogExportRow } from "../../db/tables/log-exports.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import { baseOf } from "../../endpoint/public-origin.ts";
import { readLogSight } from "../../endpoint/role.ts";
import { definePublicEndpoint, type Endpoint } from "../../endpoint.ts";
import { InvalidRequestError, NotFoundError, PermissionError } from "../../errors.ts";
import { firstIdOf } from "../../lib/ids.ts";
import {
  CreateLogExport,
  type ExportFilters,
  FieldRestrictions,
  LogExport,
  LogExportLink,
  LogExportList,
  LogExportMessage,
  LogExportReceipt,
  UpdateLogExport,
} from "../../schemas/log-exports.ts";
import { type AdminCall, defineRead } from "../core/endpoint.ts";
import { toJson } from "../core/json-column.ts";
import { defineRecord, workspaceQuery } from "../core/record.ts";
import type { Found, NewPlace } from "../core/record-definitions.ts";
import { forbid, namedWorkspace, readTenant, refuseField, requireFound, requireId } from "../core/request.ts";
import { shownBy } from "../core/shown-row.ts";
import { requireOrganisation } from "../core/workspace-records.ts";
import { contentFields } from "./fields.ts";
import { deniedExportFilter, readExportQuery } from "./filters.ts";
import { discardFile, readStored } from "./slice.ts";

const object = "export" as const;
/** How long a link to a file works. */
const linkMs = 60 * 60_000;
/** Most exports of an organisation that run at a time. */
const maxRunning = 10;
const running = "in_progress";

const toExport = shownBy(LogExport, (row: LogExportRow) => {
  const { filters, fields } = readStored(row);
  return {
    filters,
    requested_data: fields,
    status: row.status as LogExport["status"], // the column has no other values
    error: row.failure,
    total_records: row.total,
  };
});

/** Users see the exports that they created; services those of their workspace or organisation. */
function seenBy({ context: { principal } }: AdminCall<unknown>) {
  return principal.userId === null ? {} : { createdBy: principal.userId };
}

async function findExport(call: AdminCall<unknown>): Promise<LogExportRow> {
  const tenant = await readTenant(call, namedWorkspace(call));
  const id = requireId(call.params, "id", "export");
  return requireFound(await call.stores.logExports.find(tenant, { id, ...seenBy(call) }), "export");
}

/** The workspace of a new export: with a key of the organisation the one it names, or the default one. */
async function readWorkspace(call: AdminCall<CreateLogExport>): Promise<Tenant & { workspaceId: string }> {
  const { workspace_id, filters } = call.body;
  const { organisationId, workspaceId } = await readTenant(call, workspace_id ?? filters.workspace_slug);
  if (workspace_id != null && filters.workspace_slug != null) await requireSame(call, workspaceId);
  if (workspaceId !== null) return { organisationId, workspaceId };
  const row = requireFound(await call.stores.workspaces.find(call.tenant, { isDefault: true }), "workspace");
  return { organisationId, workspaceId: row.id };
}

/** Refuses a filter for another workspace than that of the export: it would find nothing. */
async function requireSame(call: AdminCall<{ filters: ExportFilters }>, workspaceId: string | null): Promise<void> {
  const named = call.body.filters.workspace_slug;
  if (named == null || workspaceId === null) return;
  const tenant = { organisationId: call.tenant.organisationId, workspaceId: null };
  const row = await call.stores.workspaces.get(tenant, named);
  if (row?.id !== workspaceId) refuseField("filters.workspace_slug", "must be the workspace of the export");
}

/**
 * What the caller may export: only rows of its user, or those of all.
 *
 * @throws {PermissionError} AB03, naming a field that the organisation or the caller's role does not export.
 */
async function requireExportable(
  call: AdminCall<unknown>,
  { fields, filters }: { fields: readonly string[]; filters: ExportFilters },
): Promise<{ userId: string | null }> {
  const { metadata, content, others } = await readLogSight(call.context);
  if (!metadata) forbid("This role may not see logs");
  if (!content && fields.some((field) => contentFields.has(field))) {
    forbid("This role may not see the contents of logs", "requested_data");
  }
  const denied = deniedFieldsOf(await requireOrganisation(call));
  const wanted = fields.filter((field) => denied.has(field));
  if (wanted.length > 0) forbid(`Your organisation does not export ${wanted.join(", ")}`, "requested_data");
  const userId = others ? null : call.context.principal.userId;
  const hidden = deniedExportFilter(filters, denied);
  if (hidden !== undefined)
    forbid(`Your organisation does not show ${hidden.field} in logs`, `filters.${hidden.filter}`);
  return { userId };
}

/** Rows that an export would have, apart from pages. */
async function countRows(call: AdminCall<unknown>, tenant: Tenant, filters: ExportFilters, userId: string | null) {
  const { lower, upper, conditions, terms, offset, limit } = readExportQuery(filters, userId, call.now);
  const { organisationId, workspaceId } = tenant;
  const wanted = { scope: { organisationId, workspaceId }, lower, upper, conditions, terms };
  const total = await call.context.services.logReader.count(wanted);
  return Math.min(Math.max(0, total - offset), limit);
}

/** Names a wrong filter by its place in the body. */
async function withFilterNames<Result>(filters: ExportFilters, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    const name = error instanceof InvalidRequestError ? error.param : null;
    if (!(error instanceof Error) || name === null || !Object.hasOwn(filters, name)) throw error;
    const message = error.message.replace(name, `filters.${name}`);
    throw new InvalidRequestError(message, { cause: error, code: "AB01", param: `filters.${name}` });
  }
}

async function createExport(call: AdminCall<CreateLogExport>, { tenant, id }: NewPlace<"logExports">) {
  const { body, actor } = call;
  const { userId } = await requireExportable(call, { fields: body.requested_data, filters: body.filters });
  const total = await withFilterNames(body.filters, () => countRows(call, tenant, body.filters, userId));
  return {
    answer: { id, total, object },
    columns: {
      description: body.description ?? null,
      filters: toJson(body.filters),
      requestedData: [...new Set(body.requested_data)],
      status: "draft",
      createdBy: actor,
      userId,
      total,
    },
  };
}

async function updateExport(call: AdminCall<UpdateLogExport>, { row }: Found<"logExports">) {
  const { body, stores, now } = call;
  if (row.status !== "draft") refuseField("status", `must be draft to change an export; it is ${row.status}`);
  await requireSame(call, row.workspaceId);
  const requested = body.requested_data ?? readStored(row).fields;
  const { userId } = await requireExportable(call, { fields: requested, filters: body.filters });
  const total = await withFilterNames(body.filters, () => countRows(call, row, body.filters, userId));
  const statement = stores.logExports.update(
    row,
    { id: row.id, status: "draft" },
    {
      filters: toJson(body.filters),
      requestedData: [...new Set(requested)],
      description: body.description,
      userId,
      total,
      lastUpdatedAt: now,
    },
  );
  return { answer: { id: row.id, total, object }, statements: [statement] };
}

const startable = ["draft", "failed", "stopped"];

async function startExport(call: AdminCall<undefined>, { row }: Found<"logExports">) {
  const { stores, now } = call;
  if (!startable.includes(row.status)) refuseField("status", `must be draft, failed or stopped; it is ${row.status}`);
  const { userId } = await requireExportable(call, readStored(row));
  const organisation = { organisationId: row.organisationId, workspaceId: null };
  if ((await stores.logExports.count(organisation, { where: { status: running } })) >= maxRunning) {
    refuseField("status", `at most ${maxRunning} exports of an organisation run at a time`);
  }
  const begin = { cursor: firstIdOf(now + 1), skipped: 0, written: 0, bytes: 0, failures: 0, fileId: null };
  const lease = { leaseOwner: null, leaseUntil: 0 };
  const statement = stores.logExports.update(
    row,
    { id: row.id, status: startable },
    { ...begin, ...lease, status: running, failure: null, userId, lastUpdatedAt: now },
  );
  return {
    answer: { message: "The export was started", object },
    statements: [statement],
    applied: () => call.context.services.logExports.wake(),
  };
}

async function cancelExport(call: AdminCall<undefined>, { row }: Found<"logExports">) {
  const { stores, now, context } = call;
  if (row.status !== running) refuseField("status", `must be in_progress; it is ${row.status}`);
  const change = { status: "stopped", fileId: null, leaseOwner: null, leaseUntil: 0, lastUpdatedAt: now };
  return {
    answer: { message: "The export was stopped", object },
    statements: [
      stores.logExports.update(row, { id: row.id, status: running }, change),
      ...discardFile(row, context.services),
    ],
  };
}

/** What a link's signature covers. */
const signedText = (organisationId: string, id: string, expires: string): string =>
  JSON.stringify(["log-export", organisationId, id, expires]);

/** Where clients reach this gateway. */
async function baseUrl(call: AdminCall<undefined>): Promise<string> {
  const { settings } = await requireOrganisation(call);
  const named =
    settings !== null && typeof settings === "object" && !Array.isArray(settings) ? settings.gateway_url : null;
  const url = typeof named === "string" && named !== "" ? named : baseOf(call.context);
  return url.replace(/\/+$/, "").replace(/\/v1$/, "");
}

async function createLink(call: AdminCall<undefined>, { row }: Found<"logExports">) {
  await requireExportable(call, readStored(row));
  const { files, logExports } = call.context.services;
  if (row.status !== "success") refuseField("status", `must be success to download an export; it is ${row.status}`);
  const file = row.fileId === null ? undefined : await files.findHidden(row, row.fileId);
  if (!file) refuseField("status", "the file of this export has expired: create another export");
  const expires = String(call.now + linkMs);
  const query = new URLSearchParams({ organisation_id: row.organisationId, expires });
  query.set("signature", await logExports.linkMac(signedText(row.organisationId, row.id, expires)));
  return { signed_url: `${await baseUrl(call)}/v1/logs/exports/${row.id}/content?${query}` };
}

/** The file of a signed link: whoever has the link may read it, as long as it works. */
async function readContent(context: RequestContext) {
  const { services, url, params } = context;
  const id = params.id ?? "";
  const [organisationId, expires, signature] = ["organisation_id", "expires", "signature"].map(
    (name) => url.searchParams.get(name) ?? "",
  );
  const { linkMac } = services.logExports;
  const wanted = await linkMac(signedText(organisationId ?? "", id, expires ?? ""));
  // digests of both are compared: the time of the comparison says nothing about the signature
  const isSigned = (await linkMac(wanted)) === (await linkMac(signature ?? ""));
  if (!isSigned || !(Number(expires) > services.clock.now())) {
    throw new PermissionError("Cannot open this link: it has expired or was changed", { code: "AB03" });
  }
  const tenant = { organisationId: organisationId ?? "", workspaceId: null };
  const row = await services.control.stores.logExports.find(tenant, { id, status: "success" });
  const file = row && row.fileId !== null ? await services.files.findHidden(row, row.fileId) : undefined;
  if (!row || !file) throw new NotFoundError("Cannot find the file of this export", { code: "AB08" });
  const reply = await contentReply(file, services.files);
  const headers = {
    ...reply.headers,
    "content-type": "application/x-ndjson",
    "content-disposition": `attachment; filename="logs-${row.id}.jsonl"`,
  };
  return { ...reply, headers };
}

const access = { keys: "any", scopes: ["logs.export"] } as const;
const tag = "Log exports";
const path = "/v1/logs/exports";

const exported = defineRecord({
  tag,
  path,
  words: { one: "an export", many: "exports" },
  store: "logExports",
  audit: "log_exports",
  access: () => access,
  reserved: ["field-restrictions"],
  find: findExport,
});

/** Endpoints of log exports. */
export const logExportEndpoints: readonly Endpoint[] = [
  defineRead({
    tag,
    access,
    method: "GET",
    path: `${path}/field-restrictions`,
    summary: "Show which fields cannot be exported",
    query: [workspaceQuery],
    response: FieldRestrictions,
    async handle(call) {
      await readTenant(call);
      if (!(await readLogSight(call.context)).metadata) forbid("This role may not see logs");
      return { deniedFields: [...deniedFieldsOf(await requireOrganisation(call))] };
    },
  }),
  exported.create({
    summary: "Create an export of log rows",
    body: CreateLogExport,
    response: LogExportReceipt,
    tenant: readWorkspace,
    decide: createExport,
  }),
  exported.list({
    summary: "List exports, newest first",
    response: LogExportList,
    page: 1_000,
    select: (call) => ({ where: seenBy(call) }),
    show: (rows) => rows.map(toExport),
  }),
  exported.show({ response: LogExport, show: ({ row }) => toExport(row) }),
  exported.change({
    summary: "Change an export that was not started",
    body: UpdateLogExport,
    response: LogExportReceipt,
    decide: updateExport,
  }),
  ...(["start", "cancel"] as const).map((verb) =>
    exported.write({
      method: "POST",
      at: `/${verb}`,
      verb,
      summary: verb === "start" ? "Start an export" : "Stop an export",
      response: LogExportMessage,
      handle: verb === "start" ? startExport : cancelExport,
    }),
  ),
  exported.read({
    at: "/download",
    verb: "read",
    summary: "Get a link to the file of an export",
    response: LogExportLink,
    handle: createLink,
  }),
  definePublicEndpoint({
    method: "GET",
    path: `${path}/:id/content`,
    tag,
    summary: "Download the file of an export by its signed link",
    access: "public",
    errorForm: "admin",
    handle: readContent,
  }),
];
