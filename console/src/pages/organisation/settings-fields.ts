import { isJsonObject, type JsonObject } from "@/lib/json.ts";
import { nameOf } from "@/lib/words.ts";
import { choices } from "@/resources/options.ts";
import type { Field } from "@/resources/types.ts";
import { text } from "@/text/text.ts";
import { isPlainSchema } from "./metadata-schema.ts";
import { ownFields } from "./settings-own.ts";

const words = text.settings;

/** The alternatives of a schema without `null`, each without alternatives of its own. */
function alternatives(schema: unknown): readonly JsonObject[] {
  if (!isJsonObject(schema)) return [];
  if (Array.isArray(schema.anyOf)) return schema.anyOf.flatMap(alternatives);
  return schema.type === "null" ? [] : [schema];
}

/** How a setting is edited that takes values of several types. */
function unionOf(schemas: readonly JsonObject[]): Field["kind"] {
  const types = schemas.map(({ type }) => String(type)).sort();
  if (String(types) === "array,string") return "tags";
  return String(types) === "number,string" ? "text" : "json";
}

function inputOf(name: string, [schema = {}, ...others]: readonly JsonObject[]): Pick<Field, "kind" | "options"> {
  if (schema.type === "boolean") return { kind: "switch" };
  if (others.length > 0) return { kind: unionOf([schema, ...others]) };
  if (schema.type === "integer" || schema.type === "number") return { kind: "number" };
  if (Array.isArray(schema.enum)) return { kind: "select", options: choices(...schema.enum.map(String)) };
  if (schema.type === "string") return { kind: name.endsWith("secret") ? "secret" : "text" };
  const items = schema.items;
  if (schema.type !== "array" || !isJsonObject(items) || items.type !== "string") return { kind: "json" };
  return Array.isArray(items.enum) ? { kind: "multi", options: choices(...items.enum.map(String)) } : { kind: "tags" };
}

/** Members below a member that its schema names. */
function membersOf([schema, ...others]: readonly JsonObject[]): JsonObject | undefined {
  return others.length === 0 && isJsonObject(schema?.properties) ? schema.properties : undefined;
}

/** What is known of a setting besides its schema. A schema with more than its lines could show is edited as JSON. */
function ownOf(path: string, value: unknown): Partial<Field> {
  const own = ownFields[path] ?? {};
  return own.columns !== undefined && !isPlainSchema(value) ? {} : own;
}

/** Members that the form leaves out: `settings` holds some of the others once more, and nothing depends on the rest. */
const hidden = new Set(["settings", "disable_auto_provision_user", "mcp_gateway_url"]);

/** Fields for the members of a settings route that its answer holds, by the schema of its body. */
export function toFields(properties: JsonObject, stored: JsonObject, above = ""): readonly Field[] {
  return Object.entries(properties).flatMap(([name, property]) => {
    if (above === "" && (!(name in stored) || hidden.has(name))) return [];
    const path = above + name;
    const schemas = alternatives(property);
    const inner = membersOf(schemas);
    if (inner !== undefined) return toFields(inner, {}, `${path}.`);
    const help = words.help[path];
    const field = { name: path, label: words.names[path] ?? nameOf(name), ...inputOf(name, schemas) };
    return [{ ...field, ...ownOf(path, stored[name]), ...(help && { help }) }];
  });
}

interface FieldGroup {
  readonly title: string;
  readonly fields: readonly Field[];
}

/** Switches that belong to the input before them. */
const beside = new Set(["allow_subdomains"]);

/** Fields that begin a line, so that they stand beside the one after them. */
const first = new Set(["fallback_price.input", "semantic_cache.provider"]);

/** How much of a line a field takes. */
export type Room = "part" | "first" | "line" | "switch" | "beside";

export function roomOf({ kind, name }: Field): Room {
  if (kind === "switch") return beside.has(name) ? "beside" : "switch";
  if (first.has(name)) return "first";
  return kind === "json" || kind === "rows" || kind === "own" ? "line" : "part";
}

/** Fields that share lines come first, then those that take one each, then switches. */
const ranks: Readonly<Record<Room, number>> = { part: 0, first: 0, beside: 0, line: 1, switch: 2 };

/** Members of the organisation under the titles of the page, in order. */
const groups: readonly (readonly [keyof typeof words.groups, readonly string[]])[] = [
  ["general", ["name", "gateway_url"]],
  [
    "logs",
    [
      "debug_log",
      "enforce_debug_log_setting",
      "log_retention_days",
      "log_metadata_keys",
      "session_metadata_key",
      "export_settings",
    ],
  ],
  ["costs", ["unpriced_models", "fallback_price", "alert_webhook", "alert_webhook_secret"]],
  ["cache", ["default_cache_ttl", "semantic_cache"]],
  [
    "users",
    [
      "allowed_domains",
      "allow_subdomains",
      "user_api_key_auto_create",
      "default_workspace_user_api_key_auto_create",
      "user_api_key_count",
      "user_api_key_ttl",
      "user_api_key_max_ttl",
      "user_key_metadata",
      "user_key_metadata_override",
      "session_settings",
    ],
  ],
  [
    "workspaces",
    ["workspace_override", "api_key_metadata_schema", "workspace_metadata_schema", "data_plane_security_settings"],
  ],
  ["roles", ["security_settings"]],
  ["keySets", ["jwt_enabled", "jwks_url", "jwks"]],
  ["tokens", ["algorithms", "issuer", "audience", "max_token_age", "clock_tolerance", "default_scopes"]],
  ["browser", ["oidc"]],
  ["guardrails", ["input_guardrails", "output_guardrails"]],
];

/** The fields under the titles they belong to, by the first member of their path. */
export function toGroups(fields: readonly Field[]): readonly FieldGroup[] {
  const memberOf = ({ name }: Field): string => name.split(".")[0] ?? name;
  const named: ReadonlySet<string> = new Set(groups.flatMap(([, members]) => members));
  const others = { title: words.others, fields: fields.filter((field) => !named.has(memberOf(field))) };
  const titled = groups.map(([name, members]) => ({
    title: words.groups[name],
    fields: members.flatMap((member) => fields.filter((field) => memberOf(field) === member)),
  }));
  const rankOf = (field: Field): number => ranks[roomOf(field)];
  return [...titled, others]
    .filter((group) => group.fields.length > 0)
    .map((group) => ({ ...group, fields: group.fields.toSorted((one, other) => rankOf(one) - rankOf(other)) }));
}
