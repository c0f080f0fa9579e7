import type { OrganisationRow, WorkspaceRow } from "../db/tables/tenants.ts";
import { isObject } from "../lib/json.ts";
import type { FallbackPrice } from "../pricing/fallback-price.ts";
import type { WorkspaceSettings } from "../schemas/settings.ts";

/** Settings of a workspace: its own where the organisation allows them, else the organisation's, else these. */
export const defaultSettings: WorkspaceSettings = {
  debug_log: 1,
  user_api_key_count: -1,
  user_api_key_ttl: 0,
  user_api_key_max_ttl: 0,
  user_api_key_auto_create: false,
  user_key_metadata: 1,
  user_key_metadata_override: 1,
};

const bothRoles = (view: string, ...more: string[]) =>
  ["managers", "members"].flatMap((role) => [view, ...more].map((name) => `${role}${name}`));

/** Groups that an organisation can open to its workspaces, with their settings. */
export const overrideGroups: Readonly<Record<string, readonly string[]>> = {
  debug_log: ["debug_log"],
  user_api_keys: Object.keys(defaultSettings).filter((name) => name !== "debug_log"),
  logs: [
    "organisationAdminsViewLogs",
    "organisationAdminsViewLogMetadata",
    ...bothRoles("ViewLogs", "ViewLogMetadata"),
  ],
  analytics: bothRoles("ViewAllData", "ViewAnalytics"),
  api_keys: bothRoles("ViewApiKeys", "WriteApiKeys"),
  configs: bothRoles("ViewConfigs", "WriteConfigs"),
  prompts: bothRoles("ViewPrompts", "WritePrompts"),
  guardrails: bothRoles("ViewGuardrails", "WriteGuardrails"),
  providers: bothRoles("ViewVirtualKeys", "WriteVirtualKeys"),
  workspaces: [
    "managersUpdateWs",
    "managersWriteWsUsers",
    "managersWriteWsIntegrations",
    "managersWriteWsMcpIntegrations",
    "managersWriteMcpServers",
  ],
  data_plane_security_settings: ["block_inline_config"],
};

/** A JSON column as an object. */
export function toRecord(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

/** Names of the groups that an organisation opened to its workspaces. */
export function openGroups(organisation: Pick<OrganisationRow, "settings">): Set<string> {
  const { workspace_override: opened } = toRecord(organisation.settings);
  return new Set(Array.isArray(opened) ? opened.map(String) : []);
}

/** The group of a setting. */
export function groupOf(member: string): string | undefined {
  return Object.entries(overrideGroups).find(([, members]) => members.includes(member))?.[0];
}

/** The settings in effect in a workspace. */
export function settingsOf({
  organisation,
  workspace,
}: {
  organisation: Pick<OrganisationRow, "settings">;
  workspace: Pick<WorkspaceRow, "settings" | "isDefault">;
}): WorkspaceSettings {
  const ofOrganisation = toRecord(organisation.settings);
  const merged: Record<string, unknown> = { ...defaultSettings, ...ofOrganisation, ...toRecord(workspace.settings) };
  const shown = Object.fromEntries(Object.keys(defaultSettings).map((name) => [name, merged[name]]));
  if (workspace.isDefault && ofOrganisation.default_workspace_user_api_key_auto_create === true) {
    shown.user_api_key_auto_create = true;
  }
  // the columns only contain values that passed the schemas of these settings
  return shown as WorkspaceSettings;
}

/** What an organisation does with models that have no price. */
export interface UnpricedModels {
  /** `block` refuses their calls, `allow` counts no cost, `fallback` counts the fallback price. */
  readonly mode: "block" | "allow" | "fallback";
  /** Null without one. */
  readonly fallbackPrice: FallbackPrice | null;
}

/** Reads the setting of an organisation for models without a price. */
export function unpricedModelsOf({ settings }: Pick<OrganisationRow, "settings">): UnpricedModels {
  const { unpriced_models: mode = "allow", fallback_price: fallbackPrice = null } = toRecord(settings);
  // the column only contains values that passed the schema of these settings
  return { mode, fallbackPrice } as UnpricedModels;
}

/** Whether a workspace allows saved configs only. */
export function blocksInlineConfig({
  organisation,
  workspace,
}: {
  organisation: Pick<OrganisationRow, "settings">;
  workspace: Pick<WorkspaceRow, "dataPlaneSecuritySettings">;
}): boolean {
  const ofOrganisation = toRecord(toRecord(organisation.settings).data_plane_security_settings);
  return [ofOrganisation, toRecord(workspace.dataPlaneSecuritySettings)].some(
    ({ block_inline_config: blocks }) => blocks === true,
  );
}
