import { maskSecret } from "../../auth/api-key.ts";
import type { Services } from "../../context.ts";
import { readDeploymentAuth } from "../../control/deployments.ts";
import type { DeploymentRow } from "../../db/tables/deployments.ts";
import type { WorkspaceRow } from "../../db/tables/tenants.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { readBytes } from "../../lib/body.ts";
import { startTimer } from "../../lib/clock.ts";
import { randomBase62 } from "../../lib/hash.ts";
import { decodeUtf8, isObject, parseJson } from "../../lib/json.ts";
import { type Outbound, toOutboundError } from "../../lib/outbound.ts";
import { joinUrl } from "../../lib/path.ts";
import {
  CreateDeployment,
  CreatedDeployment,
  DeploymentList,
  DeploymentPing,
  DeploymentRecord,
  type DeploymentSummary,
  deploymentStatuses,
  deploymentTypes,
  type PingResult,
  UpdateDeployment,
  UpdatedDeployment,
} from "../../schemas/deployments.ts";
import { NoContent } from "../../schemas/objects.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import { createSlug, forbid, readChoice, readPage, readText, requireFound, toIso, toList } from "../core/request.ts";
import { mergeAuthSettings } from "./deployment-settings.ts";

/** Secrets of a deployment and what is stored of them. */
async function mintSecrets({ keyMac }: Pick<Services, "keyMac">) {
  const clientAuth = `gd_${randomBase62(48)}`;
  const password = randomBase62(32);
  return {
    shown: { clientAuth, password },
    stored: {
      clientAuthDigest: await keyMac(clientAuth),
      maskedClientAuth: maskSecret(clientAuth),
      passwordDigest: await keyMac(password),
      maskedPassword: maskSecret(password),
    },
  };
}

function toSummary(row: DeploymentRow): DeploymentSummary {
  return {
    id: row.id,
    organisation_id: row.organisationId,
    name: row.name,
    slug: row.slug,
    type: row.type,
    status: row.status,
    is_default: row.isDefault ? 1 : 0,
    connection_status: row.connectionStatus,
    tags: row.tags,
    created_by: row.createdBy,
    created_at: toIso(row.createdAt),
    last_updated_at: toIso(row.lastUpdatedAt || row.createdAt),
    last_synced_at: toIso(row.lastSyncedAt),
    last_resynced_at: toIso(row.lastResyncedAt),
    object: "deployment",
  };
}

function toDetail(row: DeploymentRow, workspaces: readonly WorkspaceRow[]): DeploymentRecord {
  const { allowAllWorkspaces } = readDeploymentAuth(row.authSettings);
  return {
    ...toSummary(row),
    client_auth: row.maskedClientAuth,
    credentials: { username: row.username, password: row.maskedPassword },
    deployment_config: row.deploymentConfig ?? {},
    auth_settings: { ...row.authSettings, allow_all_workspaces: allowAllWorkspaces },
    workspaces: workspaces.map(({ id, slug }) => ({ id, slug })),
  };
}

/** Slugs of the workspaces a list is filtered by; the parameter may be repeated, with or without brackets. */
async function readWorkspaces({ query, stores, tenant }: AdminCall<undefined>): Promise<string[]> {
  const names = ["workspace_slug", "workspace_slug[]"].flatMap((name) => query.getAll(name));
  const slugs: string[] = [];
  for (const name of names.slice(0, 100).filter((text) => text !== "")) {
    const row = await stores.workspaces.get(tenant, name);
    slugs.push(row?.slug ?? forbid("This key has no access to this workspace", "workspace_slug"));
  }
  return slugs;
}

async function listDeployments(call: AdminCall<undefined>): Promise<AnswerOf<typeof DeploymentList>> {
  const { query, stores, tenant } = call;
  const status = readChoice(query, "status", deploymentStatuses) ?? "active";
  const type = readChoice(query, "type", deploymentTypes);
  const text = readText(query, "search");
  const workspaces = await readWorkspaces(call);
  const { offset, limit } = readPage(query, { max: 100 });
  // an organisation has few of them
  const rows = await stores.deployments.all(tenant, {
    where: { status, ...(type && { type }) },
    ...(text !== undefined && { search: { columns: ["name", "slug"], text } }),
  });
  const found = rows.filter(({ authSettings }) => {
    const { allowAllWorkspaces, workspacesAllowed } = readDeploymentAuth(authSettings);
    return workspaces.length === 0 || allowAllWorkspaces || workspaces.some((slug) => workspacesAllowed.includes(slug));
  });
  return toList(found.slice(offset, offset + limit).map(toSummary), found.length);
}

async function findDeployment({ params, stores, tenant }: AdminCall<unknown>): Promise<DeploymentRow> {
  return requireFound(await stores.deployments.get(tenant, params.id ?? ""), "deployment");
}

async function readDeployment(call: AdminCall<undefined>) {
  const row = await findDeployment(call);
  const status = readChoice(call.query, "status", deploymentStatuses) ?? "active";
  if (row.status !== status) requireFound(undefined, "deployment");
  const { workspacesAllowed } = readDeploymentAuth(row.authSettings);
  return toDetail(row, await call.stores.workspaces.all(call.tenant, { where: { slug: workspacesAllowed } }));
}

/** Statements after which no other deployment is the default. */
function clearDefault({ stores, tenant, now }: AdminCall<unknown>, isDefault: boolean | undefined) {
  const changes = { isDefault: false, lastUpdatedAt: now };
  return isDefault ? [stores.deployments.update(tenant, { isDefault: true }, changes)] : [];
}

async function createDeployment(
  call: AdminCall<CreateDeployment>,
): Promise<Outcome<AnswerOf<typeof CreatedDeployment>>> {
  const {
    body,
    stores,
    tenant,
    now,
    actor,
    context: { services },
  } = call;
  const { organisationId } = tenant;
  const { shown, stored } = await mintSecrets(services);
  const id = crypto.randomUUID();
  const username = `deployment-${randomBase62(12)}`;
  const isDefault = body.is_default ?? false;
  const authSettings = await mergeAuthSettings(call, {}, { change: body.auth_settings ?? {}, override: true });
  const row = {
    id,
    organisationId,
    slug: body.slug ?? createSlug(body.name, { letters: 40 }),
    name: body.name,
    type: body.type ?? ("production" as const),
    status: "active" as const,
    isDefault,
    tags: body.tags ?? null,
    authSettings,
    deploymentConfig: body.deployment_config ?? null,
    ...stored,
    username,
    createdBy: actor,
    createdAt: now,
    lastUpdatedAt: now,
  };
  return {
    answer: {
      id,
      slug: row.slug,
      organisation_id: organisationId,
      object: "deployment",
      client_auth: shown.clientAuth,
      credentials: { username, password: shown.password },
    },
    recordId: id,
    statements: [...clearDefault(call, isDefault), stores.deployments.insert(tenant, row)],
  };
}

async function updateDeployment(
  call: AdminCall<UpdateDeployment>,
): Promise<Outcome<AnswerOf<typeof UpdatedDeployment>>> {
  const {
    body,
    stores,
    tenant,
    now,
    context: { services },
  } = call;
  const row = await findDeployment(call);
  const minted = body.rotate_auth ? await mintSecrets(services) : undefined;
  const change = body.auth_settings;
  const override = body.override_existing ?? false;
  const changes = {
    name: body.name,
    type: body.type,
    status: body.status,
    tags: body.tags,
    isDefault: body.status === "archived" ? false : body.is_default,
    deploymentConfig: body.deployment_config,
    ...(change && { authSettings: await mergeAuthSettings(call, row.authSettings, { change, override }) }),
    ...minted?.stored,
    lastUpdatedAt: now,
  };
  return {
    answer: {
      id: row.id,
      slug: row.slug,
      organisation_id: row.organisationId,
      object: "deployment",
      ...(minted && {
        client_auth: minted.shown.clientAuth,
        credentials: { username: row.username, password: minted.shown.password },
      }),
    },
    recordId: row.id,
    statements: [...clearDefault(call, changes.isDefault), stores.deployments.update(tenant, { id: row.id }, changes)],
  };
}

async function deleteDeployment(call: AdminCall<undefined>) {
  const { stores, tenant, now } = call;
  const row = await findDeployment(call);
  if (row.status !== "active") requireFound(undefined, "deployment");
  const changes = { status: "archived" as const, isDefault: false, lastUpdatedAt: now };
  return { answer: {}, recordId: row.id, statements: [stores.deployments.update(tenant, { id: row.id }, changes)] };
}

/** Milliseconds a deployment has to answer. */
const pingMs = 5_000;
const maxPingBytes = 64 * 1024;

function readVersion(text: string): string | null {
  const value = parseJson(text);
  return isObject(value) && typeof value.version === "string" ? value.version.slice(0, 64) : null;
}

/** Asks a gateway whether it is alive. */
async function askHealth(baseUrl: string, outbound: Outbound): Promise<PingResult> {
  const abort = new AbortController();
  const cancel = startTimer(pingMs, () => abort.abort(new Error("the time is over")));
  const init = { method: "GET", headers: { accept: "application/json" }, origin: "influenced" } as const;
  try {
    const response = await outbound(joinUrl(baseUrl, "/health"), { ...init, signal: abort.signal });
    const bytes = await readBytes(response, { bytes: maxPingBytes, totalMs: pingMs, silenceMs: pingMs });
    const isHealthy = response.status >= 200 && response.status < 300;
    return {
      status: isHealthy ? "healthy" : "unhealthy",
      status_code: response.status,
      version: readVersion(decodeUtf8(bytes)),
      error: isHealthy ? null : `It responded with ${response.status}`,
    };
  } catch (thrown) {
    const { message } = toOutboundError(thrown, abort.signal);
    const error = abort.signal.aborted ? `It did not respond within ${pingMs / 1_000} seconds` : message;
    return { status: "unhealthy", status_code: null, version: null, error };
  } finally {
    cancel();
  }
}

async function pingDeployment(call: AdminCall<undefined>): Promise<AnswerOf<typeof DeploymentPing>> {
  const { authSettings, status } = await findDeployment(call);
  if (status !== "active") requireFound(undefined, "deployment");
  const { gateway_base_url: baseUrl } = authSettings;
  const outbound: PingResult =
    baseUrl !== undefined
      ? await askHealth(baseUrl, call.context.services.outbound)
      : { status: "unknown", status_code: null, version: null, error: "It has no gateway_base_url" };
  return {
    status: outbound.status,
    gateway_base_url: baseUrl ?? null,
    outbound,
    // deployments do not call this gateway
    inbound: { status: "unknown", error: null },
    object: "deployment",
  };
}

const audit = (action: string) => ({ resource: "deployments", action, store: null });
const access = (verb: string) => ({ keys: "admin" as const, scopes: [`deployments.${verb}`] });
const all = { tag: "Deployments", path: "/v1/deployments" };
const one = { tag: "Deployments", path: "/v1/deployments/:id" };

/** Endpoints of gateway installations. */
export const deploymentEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...all,
    method: "GET",
    summary: "List gateway installations",
    access: access("list"),
    query: [
      { name: "status", description: "active (default) or archived" },
      { name: "type", description: "production or non_production" },
      { name: "workspace_slug", description: "A workspace it serves; may be repeated", isList: true },
      { name: "search", description: "Part of the name or slug" },
      { name: "current_page", description: "From 0" },
      { name: "page_size", description: "At most 100, default 50" },
    ],
    response: DeploymentList,
    handle: listDeployments,
  }),
  defineWrite({
    ...all,
    method: "POST",
    summary: "Create a gateway installation",
    access: access("create"),
    audit: audit("create"),
    body: CreateDeployment,
    response: CreatedDeployment,
    handle: createDeployment,
  }),
  defineRead({
    ...one,
    method: "GET",
    summary: "Show a gateway installation",
    access: access("read"),
    query: [{ name: "status", description: "active (default) or archived" }],
    response: DeploymentRecord,
    handle: readDeployment,
  }),
  defineWrite({
    ...one,
    method: "PUT",
    summary: "Change a gateway installation",
    access: access("update"),
    audit: audit("update"),
    body: UpdateDeployment,
    response: UpdatedDeployment,
    handle: updateDeployment,
  }),
  defineWrite({
    ...one,
    method: "DELETE",
    summary: "Archive a gateway installation",
    access: access("delete"),
    audit: audit("delete"),
    response: NoContent,
    handle: deleteDeployment,
  }),
  defineRead({
    tag: "Deployments",
    method: "GET",
    path: "/v1/deployments/:id/ping",
    access: access("read"),
    summary: "Check whether a gateway installation is alive",
    response: DeploymentPing,
    handle: pingDeployment,
  }),
];
