import { isObject } from "../lib/json.ts";
import { isSame } from "./compare.ts";
import type { Fields } from "./document.ts";
import { namesOf, orNull, pick, toBudget, toBudgetBody, toFlag, toRateLimits, withoutNulls } from "./fields.ts";
import type { Writer } from "./kind.ts";

/** Fields of a workspace that a file may have. Those that it does not have stay as they are. */
const workspaceFields: readonly string[] = [
  "name",
  "description",
  "icon",
  "defaults",
  "usage_limits",
  "rate_limits",
  "settings",
  "security_settings",
  "data_plane_security_settings",
];

/** Groups of settings, of which a file has those that it sets. */
const groups: ReadonlySet<string> = new Set(["settings", "security_settings", "data_plane_security_settings"]);

const defaultNames = ["metadata", "input_guardrails", "output_guardrails", "user_api_key_config"];

/** Defaults as they are compared; guardrails by their slugs. */
function toDefaults(value: unknown, names: ReadonlyMap<string, string>): Fields | null {
  const { input_guardrails: input, output_guardrails: output, ...others } = withoutNulls(value);
  const listOf = (list: unknown) => (Array.isArray(list) && list.length > 0 ? namesOf(list, names) : null);
  const found = { ...others, input_guardrails: listOf(input), output_guardrails: listOf(output) };
  return orNull(withoutNulls({ ...found, metadata: orNull(withoutNulls(others.metadata)) }));
}

/** Settings that are shown as 0 or 1. */
const bits: ReadonlySet<string> = new Set(["debug_log", "user_key_metadata", "user_key_metadata_override"]);

/** A group of settings as it is compared. */
function toGroup(value: unknown): Fields {
  const entries = Object.entries(withoutNulls(value));
  return Object.fromEntries(entries.map(([name, one]) => [name, bits.has(name) ? toFlag(one) : one]));
}

/** A field of a workspace in the form in which it is compared. */
export function toWorkspaceField(field: string, value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (field === "defaults") return toDefaults(value, names);
  if (field === "usage_limits") return toBudget(value);
  if (field === "rate_limits") return toRateLimits(value);
  if (groups.has(field)) return toGroup(value);
  return value ?? null;
}

/** What a file says of a group of settings, and the same members of those that are stored. */
function sameMembers(wanted: unknown, stored: unknown): unknown {
  if (!isObject(wanted)) return stored;
  const members = isObject(stored) ? stored : {};
  return Object.fromEntries(Object.entries(wanted).map(([name, one]) => [name, sameMembers(one, members[name])]));
}

/** The fields that a file gives, as they are and as they should be. */
export function compareWorkspace(
  given: Fields,
  stored: Fields,
  names: ReadonlyMap<string, string>,
): { wanted: Fields; former: Fields } {
  const fields = workspaceFields.filter((field) => given[field] !== undefined);
  const wanted = Object.fromEntries(fields.map((field) => [field, toWorkspaceField(field, given[field], names)]));
  const former = fields.map((field): [string, unknown] => {
    const shown = toWorkspaceField(field, stored[field], names);
    return [field, groups.has(field) ? sameMembers(wanted[field], shown) : shown];
  });
  return { wanted, former: Object.fromEntries(former) };
}

/** Fields of a workspace as bodies take them. */
function toBody({ usage_limits, defaults, ...others }: Fields): Fields {
  return {
    ...others,
    ...(usage_limits !== undefined && { usage_limits: toBudgetBody(usage_limits) }),
    // absent members would stay
    ...(defaults !== undefined && { defaults: defaults === null ? null : pick(defaults, defaultNames) }),
  };
}

/** Makes a workspace, without what names its records. */
export async function createWorkspace({ api }: Writer, slug: string, wanted: Fields): Promise<Fields> {
  const { defaults: _, ...others } = wanted;
  return api({ method: "POST", path: "/admin/workspaces", body: { name: slug, ...toBody(others), slug } });
}

/** Changes fields of a workspace. */
export async function changeWorkspace({ api }: Writer, slug: string, wanted: Fields, former: Fields): Promise<void> {
  const changed = Object.entries(wanted).filter(([field, value]) => !isSame(value, former[field]));
  if (changed.length === 0) return;
  await api({ method: "PUT", path: `/admin/workspaces/${slug}`, body: toBody(Object.fromEntries(changed)) });
}

/** Removes a workspace with all that it has. */
export async function removeWorkspace({ api }: Writer, slug: string, name: unknown): Promise<void> {
  await api({ method: "DELETE", path: `/admin/workspaces/${slug}`, body: { name, force_delete: true } });
}
