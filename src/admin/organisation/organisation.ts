import { defaultSecuritySettings } from "../../auth/roles.ts";
import { listDefaultGuardrails } from "../../control/guardrail-library.ts";
import { blocksInlineConfig, defaultSettings, openGroups, overrideGroups, toRecord } from "../../control/settings.ts";
import type { Statement } from "../../db/client.ts";
import type { OrganisationRow } from "../../db/tables/tenants.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { NoContent } from "../../schemas/objects.ts";
import {
  OrganisationDefaults,
  OrganisationReply,
  ShownOrganisationDefaults,
  type ShownOrganisationSettings,
  type StoredOrganisationSettings,
  UpdatedOrganisation,
  UpdateOrganisation,
} from "../../schemas/organisations.ts";
import type { WorkspaceSettings } from "../../schemas/settings.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import { toJson } from "../core/json-column.ts";
import { metadataSchemaMembers, requireMetadataSchema } from "../core/metadata-schema.ts";
import { refuseField, requireFound, toIso } from "../core/request.ts";
import { readDefaultGuardrails, requireOrganisation } from "../core/workspace-records.ts";
import { readAlertWebhook } from "./alert-webhook.ts";
import { knownSwitches, mergeMembers, withoutClosed } from "./workspace-settings.ts";

/** Settings that workspaces do not have. */
type OwnSettings = Omit<
  ShownOrganisationSettings,
  keyof WorkspaceSettings | "security_settings" | "data_plane_security_settings"
>;

const ownDefaults: OwnSettings = {
  enforce_debug_log_setting: false,
  default_workspace_user_api_key_auto_create: false,
  workspace_override: [],
  api_key_metadata_schema: null,
  workspace_metadata_schema: null,
  session_settings: null,
  allowed_domains: [],
  allow_subdomains: false,
  disable_auto_provision_user: false,
  gateway_url: null,
  mcp_gateway_url: null,
  alert_webhook: null,
  alert_webhook_secret: null,
  default_cache_ttl: null,
  semantic_cache: null,
  unpriced_models: "allow",
  fallback_price: null,
  log_retention_days: null,
  log_metadata_keys: [],
  session_metadata_key: null,
  export_settings: { deniedFields: [] },
};

/**
 * The organisation a path names, which is the caller's.
 *
 * @throws {NotFoundError} For every other one.
 */
export async function findOrganisation(call: AdminCall<unknown>): Promise<OrganisationRow> {
  const isOwn = call.params.id?.toLowerCase() === call.tenant.organisationId;
  return isOwn ? requireOrganisation(call) : requireFound<OrganisationRow>(undefined, "organisation");
}

function toOrganisation(row: OrganisationRow): AnswerOf<typeof OrganisationReply> {
  const stored = row.settings;
  const settings = {
    ...defaultSettings,
    ...ownDefaults,
    ...stored,
    security_settings: { ...defaultSecuritySettings, ...stored.security_settings },
    data_plane_security_settings: {
      block_inline_config: blocksInlineConfig({ organisation: row, workspace: { dataPlaneSecuritySettings: {} } }),
    },
  };
  return {
    success: true,
    data: {
      id: row.id,
      name: row.name,
      slug: row.slug,
      object: "organisation",
      ...settings,
      settings,
      created_at: toIso(row.createdAt),
      last_updated_at: toIso(row.lastUpdatedAt || row.createdAt),
    },
  };
}

/** Validates what a schema cannot express, on the settings that would be stored. */
function requireConsistent(settings: StoredOrganisationSettings): void {
  for (const member of Object.values(metadataSchemaMembers)) {
    if (settings[member] !== undefined) requireMetadataSchema(settings[member], member);
  }
  for (const name of openGroups({ settings })) {
    if (!Object.hasOwn(overrideGroups, name)) {
      refuseField("workspace_override", `must be of ${Object.keys(overrideGroups).join(", ")}`);
    }
  }
  if (settings.unpriced_models === "fallback" && settings.fallback_price === undefined) {
    refuseField("fallback_price", "must be given with unpriced_models: fallback");
  }
  const { user_api_key_ttl: ttl = 0, user_api_key_max_ttl: longest = 0 } = settings;
  if (Number(longest) > 0 && Number(ttl) > Number(longest)) {
    refuseField("user_api_key_ttl", "must be at most user_api_key_max_ttl");
  }
}

/** The settings of an organisation after a change. */
function applyBody(
  { settings: stored }: OrganisationRow,
  { name: _, settings, ...top }: UpdateOrganisation,
): StoredOrganisationSettings {
  const {
    security_settings: switches,
    data_plane_security_settings: dataPlane,
    session_settings: session,
    export_settings: exports,
    ...plain
  } = { ...settings, ...top };
  // fields that are objects change one by one
  const nested = {
    security_settings: switches && mergeMembers(stored.security_settings ?? {}, knownSwitches(switches)),
    data_plane_security_settings: dataPlane && mergeMembers(stored.data_plane_security_settings ?? {}, dataPlane),
    session_settings: session && mergeMembers(stored.session_settings ?? {}, session),
    export_settings: exports && mergeMembers(stored.export_settings ?? {}, exports),
  };
  const merged = mergeMembers(stored, { ...plain, ...nested });
  requireConsistent(merged);
  return merged;
}

/** Statements that remove settings of workspaces in groups that are closed now. */
async function closeGroups(
  { stores, tenant, now }: AdminCall<unknown>,
  before: ReadonlySet<string>,
  after: ReadonlySet<string>,
): Promise<Statement[]> {
  if ([...before].every((group) => after.has(group))) return [];
  const workspaces = await stores.workspaces.all(tenant);
  return workspaces.flatMap((workspace) => {
    const open = withoutClosed(workspace, after);
    return open ? [stores.workspaces.update(tenant, { id: workspace.id }, { ...open, lastUpdatedAt: now })] : [];
  });
}

/** @throws {InvalidRequestError} AB01: no workspace has the provider that should make embeddings. */
async function requireEmbedder({ body, stores, tenant }: AdminCall<UpdateOrganisation>): Promise<void> {
  const provider = (body.semantic_cache ?? body.settings?.semantic_cache)?.provider?.replace(/^@/, "");
  if (provider === undefined) return;
  const count = await stores.providers.count(tenant, { where: { slug: provider } });
  if (count === 0) refuseField("semantic_cache.provider", "must be the slug of a provider of a workspace");
}

async function updateOrganisation(
  call: AdminCall<UpdateOrganisation>,
): Promise<Outcome<AnswerOf<typeof UpdatedOrganisation>>> {
  const { body, stores, now } = call;
  const row = await findOrganisation(call);
  await requireEmbedder(call);
  const webhook = await readAlertWebhook(call, row);
  const settings = applyBody(row, { ...body, ...webhook.masked });
  const changes = { settings, lastUpdatedAt: now, ...(body.name !== undefined && { name: body.name }) };
  return {
    answer: { success: true, data: {} },
    recordId: row.id,
    statements: [
      stores.organisations.update(row.id, changes),
      ...webhook.statements,
      ...(await closeGroups(call, openGroups(row), openGroups({ settings }))),
    ],
  };
}

async function readDefaults(call: AdminCall<undefined>): Promise<AnswerOf<typeof ShownOrganisationDefaults>> {
  const { defaults } = await requireOrganisation(call);
  const input = listDefaultGuardrails(defaults, "input");
  const output = listDefaultGuardrails(defaults, "output");
  const rows = await call.stores.guardrails.all(call.tenant, { where: { id: [...input, ...output] } });
  const slugOf = new Map(rows.map(({ id, slug }) => [id, slug]));
  const show = (ids: readonly string[]) =>
    ids.flatMap((id) => {
      const slug = slugOf.get(id);
      return slug === undefined ? [] : [{ id, slug }];
    });
  return { input_guardrails: show(input), output_guardrails: show(output) };
}

async function updateDefaults(call: AdminCall<OrganisationDefaults>) {
  const { body, stores, now } = call;
  const row = await requireOrganisation(call);
  const given = await readDefaultGuardrails(call, call.tenant, { body, prefix: "" });
  const defaults = toJson(mergeMembers(toRecord(row.defaults), given));
  const statement = stores.organisations.update(row.id, { defaults, lastUpdatedAt: now });
  return { answer: {}, recordId: row.id, statements: [statement] };
}

const row = { tag: "Organisation" };
const access = (verb: string) => ({ keys: "admin" as const, scopes: [`organisation_settings.${verb}`] });
const audit = (action: string) => ({ resource: "organisations", action, store: null });
const one = "/v1/organisations/:id";
const defaultsPath = "/v1/admin/organisation/defaults";

/** Endpoints of the organisation itself. */
export const organisationEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    path: defaultsPath,
    summary: "Show the organisation's default guardrails",
    access: access("read"),
    response: ShownOrganisationDefaults,
    handle: readDefaults,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: defaultsPath,
    summary: "Change the organisation's default guardrails",
    access: access("update"),
    audit: audit("update_defaults"),
    body: OrganisationDefaults,
    response: NoContent,
    handle: updateDefaults,
  }),
  defineRead({
    ...row,
    method: "GET",
    path: "/v1/organisations/self",
    summary: "Show the caller's organisation",
    access: access("read"),
    response: OrganisationReply,
    handle: async (call) => toOrganisation(await requireOrganisation(call)),
  }),
  defineRead({
    ...row,
    method: "GET",
    path: one,
    summary: "Show an organisation and its settings",
    access: access("read"),
    response: OrganisationReply,
    handle: async (call) => toOrganisation(await findOrganisation(call)),
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: one,
    summary: "Change an organisation's settings",
    access: access("update"),
    audit: audit("update"),
    body: UpdateOrganisation,
    response: UpdatedOrganisation,
    handle: updateOrganisation,
  }),
];
