import type { SecretOpener } from "../../control/credentials.ts";
import { configurationGroups, configurationPrefix, fromPaths, toPaths } from "../../control/integration-fields.ts";
import type { StoredReference } from "../../control/provider-library.ts";
import type { McpIntegrationRow } from "../../db/tables/mcp.ts";
import type { SecretRow } from "../../db/tables/secrets.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { mcpAddressField } from "./mcp-library.ts";

/** Where the secrets of an integration are. */
interface SecretSources {
  readonly secrets: readonly SecretRow[];
  readonly references: readonly StoredReference[];
}

/**
 * The configurations of an integration with its secrets.
 *
 * @throws {CredentialUnavailableError} If one is not available.
 */
export async function openConfigurations(
  row: McpIntegrationRow,
  { secrets, references }: SecretSources,
  opener: SecretOpener,
): Promise<Readonly<Record<string, unknown>>> {
  const paths = toPaths(row.configurations);
  for (const [field, value] of await opener.all({ secrets, references, mappings: row.secretMappings })) {
    if (!field.startsWith(configurationPrefix)) continue;
    const name = field.slice(configurationPrefix.length);
    const isText = configurationGroups.has(name) && typeof value === "string";
    // a group may come as a whole from outside
    for (const [path, one] of toPaths({ [name]: isText ? parseJson(value) : value })) paths.set(path, one);
  }
  return fromPaths(paths);
}

/**
 * The address of the server of an integration, whose row shows it masked if it holds a secret.
 *
 * @throws {CredentialUnavailableError} If it cannot be opened.
 */
export async function openAddress(
  { url }: Pick<McpIntegrationRow, "url">,
  secrets: readonly SecretRow[],
  opener: SecretOpener,
): Promise<string> {
  const sealed = secrets.filter(({ field }) => field === mcpAddressField);
  const [opened] = await opener.own({ secrets: sealed, mappings: null, references: [] });
  return opened ? String(opened[1]) : url;
}

/** The headers in opened configurations, in small letters: those of the later group win. */
export function headersIn(configurations: Readonly<Record<string, unknown>>): Record<string, string> {
  const groups = [configurations.custom_headers, configurations.passthrough_headers];
  const entries = groups.flatMap((group) => (isObject(group) ? Object.entries(group) : []));
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), String(value)]));
}
