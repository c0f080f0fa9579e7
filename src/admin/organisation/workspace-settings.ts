import { defaultSecuritySettings } from "../../auth/roles.ts";
import { groupOf, openGroups, settingsOf, toRecord } from "../../control/settings.ts";
import type { JsonValue } from "../../db/tables/columns.ts";
import type { OrganisationRow, WorkspaceRow } from "../../db/tables/tenants.ts";
import { securitySettingsOf } from "../../endpoint/role.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { toJson } from "../core/json-column.ts";
import { forbid, refuseField } from "../core/request.ts";

/** Members by name; null goes back to what holds without it. */
type Changes = Readonly<Record<string, unknown>>;

/** Stored members with changes: undefined stays, null is taken out, a value replaces. */
export function mergeMembers(stored: unknown, changes: Changes): Record<string, unknown> {
  const merged = { ...toRecord(stored), ...Object.fromEntries(definedOf(changes)) };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null));
}

function definedOf(changes: Changes): [string, unknown][] {
  return Object.entries(changes).filter(([, value]) => value !== undefined);
}

/** Switches a body names. @throws {InvalidRequestError} AB01 for one there is not. */
export function knownSwitches(switches: Changes | null | undefined): Changes {
  const unknown = Object.keys(switches ?? {}).find((name) => !Object.hasOwn(defaultSecuritySettings, name));
  if (unknown !== undefined) refuseField(`security_settings.${unknown}`, "is not a switch");
  return switches ?? {};
}

/**
 * Changes that a workspace may keep. Saying again what holds already is no change.
 *
 * @throws {PermissionError} AB03 for a change in a group that the organisation did not open to its workspaces.
 */
function requireOpen(
  organisation: OrganisationRow,
  changes: Changes,
  { effective, param }: { effective: Changes; param: string },
): Changes {
  const open = openGroups(organisation);
  const kept = definedOf(changes).filter(([name, value]) => {
    const group = groupOf(name);
    if (group !== undefined && open.has(group)) return true;
    if (value !== null && value !== effective[name]) {
      forbid(`The organisation does not let workspaces change ${group ?? "this"}`, `${param}.${name}`);
    }
    return false;
  });
  return Object.fromEntries(kept);
}

/** What a body says about the settings of a workspace. */
interface SettingsBody {
  settings?: Changes | null | undefined;
  security_settings?: Changes | null | undefined;
  data_plane_security_settings?: Changes | null | undefined;
}

/** Columns of a workspace that hold settings. */
interface SettingsColumns {
  settings: JsonValue;
  securitySettings: JsonValue;
  dataPlaneSecuritySettings: JsonValue;
}

/**
 * The settings a workspace has after a body was applied to it.
 *
 * @throws {PermissionError} AB03 for what the organisation keeps closed.
 */
export function applySettings(
  call: AdminCall<SettingsBody>,
  organisation: OrganisationRow,
  workspace: WorkspaceRow,
): SettingsColumns {
  const { body, tenant } = call;
  const view = { organisation, workspace };
  const apply = (stored: unknown, changes: Changes | null | undefined, effective: Changes, param: string) =>
    changes === null
      ? {}
      : toJson(mergeMembers(stored, requireOpen(organisation, changes ?? {}, { effective, param })));
  const switches = body.security_settings === null ? null : knownSwitches(body.security_settings);
  const ofDataPlane = body.data_plane_security_settings;
  const mayClose = tenant.workspaceId === null || openGroups(organisation).has("data_plane_security_settings");
  // this one only ever takes rights away, so the organisation's own keys need not open it first
  if (ofDataPlane !== undefined && !mayClose) {
    forbid("The organisation does not let workspaces change this", "data_plane_security_settings");
  }
  return {
    settings: apply(workspace.settings, body.settings, settingsOf(view), "settings"),
    securitySettings: apply(workspace.securitySettings, switches, securitySettingsOf(view), "security_settings"),
    dataPlaneSecuritySettings:
      ofDataPlane === null ? {} : toJson(mergeMembers(workspace.dataPlaneSecuritySettings, ofDataPlane ?? {})),
  };
}

/** The columns of a workspace without what belongs to groups that are closed now; undefined when it holds nothing of them. */
export function withoutClosed(
  workspace: WorkspaceRow,
  open: ReadonlySet<string>,
): Partial<SettingsColumns> | undefined {
  const keep = (stored: unknown) => Object.entries(toRecord(stored)).filter(([name]) => open.has(groupOf(name) ?? ""));
  const settings = keep(workspace.settings);
  const switches = keep(workspace.securitySettings);
  const held = [workspace.settings, workspace.securitySettings].flatMap((stored) => Object.keys(toRecord(stored)));
  if (settings.length + switches.length === held.length) return undefined;
  return { settings: toJson(Object.fromEntries(settings)), securitySettings: toJson(Object.fromEntries(switches)) };
}
