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
  DeploymentSummary,
  deploymentStatuses,
  deploymentTypes,
  type PingResult,
  UpdateDeployment,
  UpdatedDeployment,
} from "../../schemas/deployments.ts";
import type { AdminCall, AnswerOf } from "../core/endpoint.ts";
import { defineRecord, pageQuery } from "../core/record.ts";
import type { Found, NewPlace } from "../core/record-definitions.ts";
import { createSlug, forbid, readChoice, readPage, readText, requireFound, toList } from "../core/request.ts";
import { shownBy } from "../core/shown-row.ts";
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

const toSummary = shownBy(DeploymentSummary, (_row: DeploymentRow) => ({}));

function toDetail(row: DeploymentRow, workspaces: readonly WorkspaceRow[]): AnswerOf<typeof DeploymentRecord> {
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

async function readDeployment({ row }: Found<"deployments">, call: AdminCall<undefined>) {
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

async function createDeployment(call: AdminCall<CreateDeployment>, { id }: NewPlace<"deployments">) {
  const { body, tenant, actor, context } = call;
  const { shown, stored } = await mintSecrets(context.services);
  const username = `deployment-${randomBase62(12)}`;
  const isDefault = body.is_default ?? false;
  const authSettings = await mergeAuthSettings(call, {}, { change: body.auth_settings ?? {}, override: true });
  const slug = body.slug ?? createSlug(body.name, { letters: 40 });
  return {
    answer: {
      id,
      slug,
      organisation_id: tenant.organisationId,
      object: "deployment" as const,
      client_auth: shown.clientAuth,
      credentials: { username, password: shown.password },
    },
    before: clearDefault(call, isDefault),
    columns: {
      slug,
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
    },
  };
}

async function updateDeployment(call: AdminCall<UpdateDeployment>, { row }: Found<"deployments">) {
  const { body, context } = call;
  const minted = body.rotate_auth ? await mintSecrets(context.services) : undefined;
  const change = body.auth_settings;
  const override = body.override_existing ?? false;
  const isDefault = body.status === "archived" ? false : body.is_default;
  return {
    answer: {
      id: row.id,
      slug: row.slug,
      organisation_id: row.organisationId,
      object: "deployment" as const,
      ...(minted && {
        client_auth: minted.shown.clientAuth,
        credentials: { username: row.username, password: minted.shown.password },
      }),
    },
    columns: {
      name: body.name,
      type: body.type,
      status: body.status,
      tags: body.tags,
      isDefault,
      deploymentConfig: body.deployment_config,
      ...(change && { authSettings: await mergeAuthSettings(call, row.authSettings, { change, override }) }),
      ...minted?.stored,
    },
    statements: clearDefault(call, isDefault),
  };
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

async function pingDeployment(
  call: AdminCall<undefined>,
  { row: { authSettings, status } }: Found<"deployments">,
): Promise<AnswerOf<typeof DeploymentPing>> {
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

const deployments = defineRecord({
  tag: "Deployments",
  path: "/v1/deployments",
  words: { one: "a gateway installation", many: "gateway installations" },
  noun: "deployment",
  store: "deployments",
  audit: "deployments",
  access: (verb) => ({ keys: "admin", scopes: [`deployments.${verb}`] }),
  ofOrganisation: true,
});

/** Endpoints of gateway installations. */
export const deploymentEndpoints: readonly AdminEndpoint[] = [
  deployments.listBy({
    query: [
      { name: "status", description: "active (default) or archived" },
      { name: "type", description: "production or non_production" },
      { name: "workspace_slug", description: "A workspace it serves; may be repeated", isList: true },
      { name: "search", description: "Part of the name or slug" },
      ...pageQuery(50, 100),
    ],
    response: DeploymentList,
    handle: listDeployments,
  }),
  deployments.create({ body: CreateDeployment, response: CreatedDeployment, decide: createDeployment }),
  deployments.show({
    query: [{ name: "status", description: "active (default) or archived" }],
    response: DeploymentRecord,
    show: readDeployment,
  }),
  deployments.change({ body: UpdateDeployment, response: UpdatedDeployment, decide: updateDeployment }),
  deployments.remove({
    archives: { status: "archived", isDefault: false },
    async before(_, { row }) {
      if (row.status !== "active") requireFound(undefined, "deployment");
      return [];
    },
  }),
  deployments.read({
    at: "/ping",
    verb: "read",
    summary: "Check whether a gateway installation is alive",
    response: DeploymentPing,
    handle: pingDeployment,
  }),
];
