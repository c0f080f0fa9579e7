import { defaultSecuritySettings } from "../../auth/roles.ts";
import { groupOf, openGroups, settingsOf, toRecord } from "../../control/settings.ts";
import type { JsonValue } from "../../db/tables/columns.ts";
import type { OrganisationRow, WorkspaceRow } from "../../db/tables/tenants.ts";
import { securitySettingsOf } from "../../endpoint/role.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { toJson } from "../core/json-column.ts";
import { forbid, refuseField } from "../core/request.ts";

/** Fields by name; null restores the default. */
type Changes = Readonly<Record<string, unknown>>;

/** Stored fields with changes: undefined stays, null removes, a value replaces. */
export function mergeMembers<Stored extends object>(
  stored: Stored,
  changes: { readonly [Name in keyof Stored]?: Stored[Name] | null | undefined },
): Stored {
  const merged = { ...toRecord(stored), ...Object.fromEntries(definedOf(changes)) };
  const left = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null));
  return left as Stored; // each field has its value in one of the two
}

function definedOf(changes: Changes): [string, unknown][] {
  return Object.entries(changes).filter(([, value]) => value !== undefined);
}

/** Switches by name; null restores the default. */
type SwitchChanges = Readonly<Record<string, boolean | null | undefined>>;

/** Switches a body names. @throws {InvalidRequestError} AB01 for an unknown one. */
export function knownSwitches(switches: SwitchChanges | null | undefined): SwitchChanges {
  const unknown = Object.keys(switches ?? {}).find((name) => !Object.hasOwn(defaultSecuritySettings, name));
  if (unknown !== undefined) refuseField(`security_settings.${unknown}`, "is not a known switch");
  return switches ?? {};
}

/**
 * Changes that a workspace may store. Repeating the current value is not a change.
 *
 * @throws {PermissionError} AB03 for a change in a group that the organisation did not open to its workspaces.
 */
function requireOpen(
  organisation: OrganisationRow,
  changes: Changes,
  { effective, param }: { effective: Changes; param: string },
): Changes {
  const open = openGroups(organisation);
  const changed = definedOf(changes).filter(([name, value]) => {
    const group = groupOf(name);
    if (group !== undefined && open.has(group)) return true;
    if (value !== null && value !== effective[name]) {
      forbid(`The organisation does not let workspaces change ${group ?? "this"}`, `${param}.${name}`);
    }
    return false;
  });
  return Object.fromEntries(changed);
}

/** What a body says about the settings of a workspace. */
interface SettingsBody {
  settings?: Changes | null | undefined;
  security_settings?: SwitchChanges | null | undefined;
  data_plane_security_settings?: Changes | null | undefined;
}

/** Columns of a workspace that hold settings. */
interface SettingsColumns {
  settings: JsonValue;
  securitySettings: JsonValue;
  dataPlaneSecuritySettings: JsonValue;
}

/**
 * The settings of a workspace after a change.
 *
 * @throws {PermissionError} AB03 for a group the organisation keeps closed.
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
      : toJson(mergeMembers(toRecord(stored), requireOpen(organisation, changes ?? {}, { effective, param })));
  const switches = body.security_settings === null ? null : knownSwitches(body.security_settings);
  const ofDataPlane = body.data_plane_security_settings;
  const mayClose = tenant.workspaceId === null || openGroups(organisation).has("data_plane_security_settings");
  // this one only ever removes rights, so the organisation's own keys need not open it first
  if (ofDataPlane !== undefined && !mayClose) {
    forbid("The organisation does not let workspaces change this", "data_plane_security_settings");
  }
  return {
    settings: apply(workspace.settings, body.settings, settingsOf(view), "settings"),
    securitySettings: apply(workspace.securitySettings, switches, securitySettingsOf(view), "security_settings"),
    dataPlaneSecuritySettings:
      ofDataPlane === null
        ? {}
        : toJson(mergeMembers(toRecord(workspace.dataPlaneSecuritySettings), ofDataPlane ?? {})),
  };
}

/**
 * The columns of a workspace without settings of groups that are closed now; undefined when there is nothing to remove.
 */
export function withoutClosed(
  workspace: WorkspaceRow,
  open: ReadonlySet<string>,
): Partial<SettingsColumns> | undefined {
  const openOnly = (stored: unknown) =>
    Object.entries(toRecord(stored)).filter(([name]) => open.has(groupOf(name) ?? ""));
  const settings = openOnly(workspace.settings);
  const switches = openOnly(workspace.securitySettings);
  const held = [workspace.settings, workspace.securitySettings].flatMap((stored) => Object.keys(toRecord(stored)));
  if (settings.length + switches.length === held.length) return undefined;
  return { settings: toJson(Object.fromEntries(settings)), securitySettings: toJson(Object.fromEntries(switches)) };
}
