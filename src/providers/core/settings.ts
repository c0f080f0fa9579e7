import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { plainIssues } from "../../lib/issues.ts";

/** Settings a caller sends in headers `x-gateway-<prefix>-<name>`, with hyphens in the names. */
export interface SettingsDefinition<Settings> {
  prefix: string;
  /**
   * Whether callers may send them with a stored credential: only if they cannot redirect the credential. Default: no.
   */
  open?: boolean;
  /** Fields whose headers have no prefix. */
  unprefixed?: readonly string[];
  /** Fields that the provider's own clients send in headers without the gateway's prefix, by header name. */
  plain?: readonly string[];
  /** Aliases of settings in routing configs, by setting. */
  configNames?: Readonly<Record<string, readonly string[]>>;
  schema: v.ObjectSchema<v.ObjectEntries, undefined> & v.GenericSchema<unknown, Settings>;
}

/** A setting that is a credential: it is encrypted at rest and shown masked. */
export const secretSetting = <const Schema extends v.GenericSchema>(schema: Schema) =>
  v.pipe(schema, v.metadata({ isSecret: true }));

/** A setting that determines where requests and their credential go. */
export const addressSetting = <const Schema extends v.GenericSchema>(schema: Schema) =>
  v.pipe(schema, v.metadata({ shapesAddress: true }));

/** A setting and its attributes. */
export interface ProviderSetting {
  /** Its field name in configs and integrations. */
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

/** One label of a host name: every caller's value in a host name must match it. */
export const hostLabel = (problem: string) => v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,63}$/, problem));

/** Values of the settings in a request; undefined without values. */
type SettingsReader = (read: (name: string) => string | null) => Record<string, string> | undefined;

/** Header of a field, without the gateway's prefix. */
function headerOf({ prefix, unprefixed }: Omit<SettingsDefinition<unknown>, "schema">, name: string): string {
  const written = name.replaceAll("_", "-");
  return unprefixed?.includes(name) ? written : `${prefix}-${written}`;
}

/** Fields of a settings schema and their headers, without the gateway's prefix. */
export function settingHeaders(definition: SettingsDefinition<unknown>) {
  return Object.keys(definition.schema.entries).map((name) => ({ name, header: headerOf(definition, name) }));
}

/** Metadata of an entry, also below optional and nullish wrappers. */
function marksOf(entry: v.GenericSchema): Record<string, unknown> {
  return "wrapped" in entry ? marksOf(entry.wrapped as v.GenericSchema) : v.getMetadata(entry); // `wrapped` is a schema
}

/** Settings under their names in configs and integrations, with their attributes. */
export function listSettings(definition: SettingsDefinition<unknown>): ProviderSetting[] {
  return settingHeaders(definition).map(({ name, header }) => {
    const entry = definition.schema.entries[name];
    const { isSecret = false, shapesAddress = false } = entry ? marksOf(entry as v.GenericSchema) : {}; // no entry is async
    return { member: header.replaceAll("-", "_"), isSecret: isSecret === true, shapesAddress: shapesAddress === true };
  });
}

/** Routing config fields for each setting, by header; the header's own name is first. */
export function settingMembers(definition: SettingsDefinition<unknown>): ReadonlyMap<string, readonly string[]> {
  const { configNames = {} } = definition;
  return new Map(
    settingHeaders(definition).map(({ name, header }) => [
      header,
      [header.replaceAll("-", "_"), ...(configNames[name] ?? [])],
    ]),
  );
}

/** A reader of a provider's headers; `read` returns a gateway header by its name without the prefix. */
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
 * Parses the settings of a provider.
 *
 * @throws {InvalidRequestError} Names the invalid header.
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
