import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { plainIssues } from "../../lib/issues.ts";

/** Settings a caller gives in headers `x-gateway-<prefix>-<name>`, the names written with hyphens. */
export interface SettingsDefinition<Settings> {
  prefix: string;
  /** Whether callers may give them beside a stored credential: only where they cannot lead it elsewhere. Default: no. */
  open?: boolean;
  /** Members whose names are those of their headers whole, without the prefix. */
  unprefixed?: readonly string[];
  /** Members that clients of the provider send in headers without the gateway's prefix too, by their headers' names. */
  plain?: readonly string[];
  /** Further names of entries in routing configs, by the entry they give. */
  configNames?: Readonly<Record<string, readonly string[]>>;
  schema: v.ObjectSchema<v.ObjectEntries, undefined> & v.GenericSchema<unknown, Settings>;
}

/** A setting that is a credential: where it is stored it is sealed, and it is shown masked. */
export const secretSetting = <const Schema extends v.GenericSchema>(schema: Schema) =>
  v.pipe(schema, v.metadata({ isSecret: true }));

/** A setting that says where requests, and the credential with them, go. */
export const addressSetting = <const Schema extends v.GenericSchema>(schema: Schema) =>
  v.pipe(schema, v.metadata({ shapesAddress: true }));

/** What is said of a setting besides its form. */
export interface ProviderSetting {
  /** Its name as a member of configs and integrations. */
  readonly member: string;
  readonly isSecret: boolean;
  readonly shapesAddress: boolean;
}

/** A whole number in a header. */
export const headerInteger = (minimum: number, maximum: number) =>
  v.pipe(
    v.string(),
    v.regex(/^[0-9]{1,15}$/, "must be a whole number"),
    v.transform(Number),
    v.minValue(minimum, `must be at least ${minimum}`),
    v.maxValue(maximum, `must be at most ${maximum}`),
  );

/** One label of a host name: whatever a caller puts into the host of an address passes it. */
export const hostLabel = (problem: string) => v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,63}$/, problem));

/** Values a request gives for the members of a schema; undefined when it gives none. */
type SettingsReader = (read: (name: string) => string | null) => Record<string, string> | undefined;

/** Header of a member, by its name without ours in front. */
function headerOf({ prefix, unprefixed }: Omit<SettingsDefinition<unknown>, "schema">, name: string): string {
  const written = name.replaceAll("_", "-");
  return unprefixed?.includes(name) ? written : `${prefix}-${written}`;
}

/** Members of a settings schema and the headers that give them, without the gateway's prefix. */
export function settingHeaders(definition: SettingsDefinition<unknown>) {
  return Object.keys(definition.schema.entries).map((name) => ({ name, header: headerOf(definition, name) }));
}

/** Marks of an entry; those below an optional or nullish one are its own. */
function marksOf(entry: v.GenericSchema): Record<string, unknown> {
  return "wrapped" in entry ? marksOf(entry.wrapped as v.GenericSchema) : v.getMetadata(entry); // wrapped is a schema
}

/** Settings as configs and integrations name them, with their marks. */
export function listSettings(definition: SettingsDefinition<unknown>): ProviderSetting[] {
  return settingHeaders(definition).map(({ name, header }) => {
    const entry = definition.schema.entries[name];
    const { isSecret = false, shapesAddress = false } = entry ? marksOf(entry as v.GenericSchema) : {}; // none is async
    return { member: header.replaceAll("-", "_"), isSecret: isSecret === true, shapesAddress: shapesAddress === true };
  });
}

/** Members of a routing config that give each setting, by its header: the header's own name first. */
export function settingMembers(definition: SettingsDefinition<unknown>): ReadonlyMap<string, readonly string[]> {
  const { configNames = {} } = definition;
  return new Map(
    settingHeaders(definition).map(({ name, header }) => [
      header,
      [header.replaceAll("-", "_"), ...(configNames[name] ?? [])],
    ]),
  );
}

/** A reader of the headers that belong to a provider; `read` gives a gateway header by its name without prefix. */
export function createSettingsReader(definition: SettingsDefinition<unknown>): SettingsReader {
  const names = settingHeaders(definition);
  return (read) => {
    let values: Record<string, string> | undefined;
    for (const { name, header } of names) {
      const value = read(header);
      if (value === null) continue;
      values ??= {};
      values[name] = value;
    }
    return values;
  };
}

/**
 * Settings of a provider from their texts.
 *
 * @throws {InvalidRequestError} Naming the header that is wrong.
 */
export function parseSettings<Settings>(
  definition: SettingsDefinition<Settings>,
  values: Record<string, string>,
): Settings {
  const result = v.safeParse(definition.schema, values, plainIssues);
  if (result.success) return result.output;
  const [issue] = result.issues;
  const header = `x-gateway-${headerOf(definition, String(issue.path?.[0]?.key ?? ""))}`;
  throw new InvalidRequestError(`Cannot use ${header}: ${issue.message}`, { param: header, code: "invalid_header" });
}
