import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { firstPlainIssue, plainIssues } from "../../lib/issues.ts";
import { PlainText } from "../../schemas/integration-members.ts";

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
  /** Members that configs and integrations may hold and that nothing reads, by their whole names. */
  unread?: v.ObjectEntries;
  /** Settings without a mark are hidden in logs, as by `hiddenSetting`. Default: they are shown. */
  hidesUnmarked?: boolean;
  /** What calls need besides settings that have a default. */
  requires?: Requirements;
  /** Fields of virtual keys that give settings, by the whole name of the setting. */
  virtualKeys?: Readonly<Record<string, VirtualKeyField>>;
  schema: v.ObjectSchema<v.ObjectEntries, undefined> & v.GenericSchema<unknown, Settings>;
}

/**
 * What calls need, by whole names of settings such as `aws_region`. In the lists for integrations, `key` is the key of the
 * provider.
 */
export interface Requirements {
  /** What every integration must have. Default: `key`, unless the provider is keyless. */
  integrations?: readonly string[];
  /** A setting that chooses how calls are authenticated. */
  mode?: {
    setting: string;
    /** What integrations must have, by the value of the setting. */
    integrations: Readonly<Record<string, readonly string[]>>;
    /** What integrations must have where the setting is absent. Default: nothing more. */
    absent?: readonly string[];
    /** Values with which configs need no key. */
    keyless: readonly string[];
    /** The value for virtual keys, which have no field for it. Default: none. */
    ofVirtualKeys?: string;
  };
  /** Settings that together take the place of a key in configs: any one list of them. */
  credentials?: readonly (readonly string[])[];
  /** Without a key, configs need one of `credentials` even where they name a custom host. Default: no. */
  needsCredential?: boolean;
}

/** A field of virtual keys that gives a setting. */
export interface VirtualKeyField {
  field: string;
  /** The setting's value for the field's value. Default: the same. */
  convert?(value: unknown): unknown;
}

/** What a setting says of itself besides its form. */
interface SettingMarks {
  /** It is a credential. */
  readonly isSecret: boolean;
  /** Logs show a digest of its header: it is a credential, or names an account. */
  readonly isHidden: boolean;
  /** It decides who gets requests and the credential with them: it changes only together with the credential. */
  readonly shapesAddress: boolean;
  /** It chooses among the places of the provider itself, such as its regions: requests cannot be led elsewhere by it. */
  readonly choosesPlace: boolean;
  /** It is a base address as a whole. */
  readonly isBaseAddress: boolean;
  /** It is for one file and not for later requests about it. */
  readonly isOfFile: boolean;
}

type Marks = Partial<SettingMarks> & { stored?: v.GenericSchema };

const mark = <const Schema extends v.GenericSchema>(schema: Schema, marks: Marks) =>
  v.pipe(schema, v.metadata(marks as Readonly<Record<string, unknown>>)); // an object of named members

/** A setting that is a credential: where it is stored it is sealed, and it is shown masked. */
export const secretSetting = <const Schema extends v.GenericSchema>(schema: Schema) =>
  mark(schema, { isSecret: true, isHidden: true });

/** A setting that names an account: it is stored and shown as it is, and logs have a digest of its header. */
export const hiddenSetting = <const Schema extends v.GenericSchema>(schema: Schema) => mark(schema, { isHidden: true });

/** A setting that logs show as it is, where settings without a mark are hidden. */
export const plainSetting = <const Schema extends v.GenericSchema>(schema: Schema) => mark(schema, { isHidden: false });

/** A setting that decides who gets requests, and the credential with them. */
export const addressSetting = <const Schema extends v.GenericSchema>(schema: Schema) =>
  mark(schema, { shapesAddress: true });

/** As `addressSetting`, for one that is a base address as a whole. */
export const baseAddressSetting = <const Schema extends v.GenericSchema>(schema: Schema) =>
  mark(schema, { shapesAddress: true, isBaseAddress: true });

/** A setting that chooses a place of the provider itself: a region or a project. */
export const placeSetting = <const Schema extends v.GenericSchema>(schema: Schema) =>
  mark(schema, { choosesPlace: true });

/** A setting that is for one file. */
export const fileSetting = <const Schema extends v.GenericSchema>(schema: Schema) => mark(schema, { isOfFile: true });

/**
 * A setting that integrations do not write as the text of its header.
 *
 * @param stored What they write; the text of it must be one the header may have.
 */
export const storedSetting = <const Schema extends v.GenericSchema>(schema: Schema, stored: v.GenericSchema) =>
  mark(schema, { stored });

/** A setting of a provider. */
export interface ProviderSetting extends SettingMarks {
  /** Its name in the schema. */
  readonly name: string;
  /** Its name as a member of integrations. */
  readonly member: string;
  /** Its names as a member of configs, the one above first. */
  readonly names: readonly string[];
  /** Its header, without the gateway's prefix. */
  readonly header: string;
  /** What integrations may hold for it. */
  readonly stored: v.GenericSchema;
}

/** A whole number in a header. */
export const headerInteger = (minimum: number, maximum: number) =>
  storedSetting(
    v.pipe(
      v.string(),
      v.regex(/^[0-9]{1,15}$/, "must be a whole number"),
      v.transform(Number),
      v.minValue(minimum, `must be at least ${minimum}`),
      v.maxValue(maximum, `must be at most ${maximum}`),
    ),
    v.union([v.string(), v.number()], "must be a whole number"),
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

/** Members of a settings schema and the headers that give them, without the gateway's prefix. */
function settingHeaders(definition: SettingsDefinition<unknown>) {
  return Object.keys(definition.schema.entries).map((name) => ({ name, header: headerOf(definition, name) }));
}

/** Marks of an entry; those below an optional or nullish one are its own. */
function marksOf(entry: v.GenericSchema): Marks {
  // what is wrapped is a schema, and only `mark` gives metadata
  return "wrapped" in entry ? marksOf(entry.wrapped as v.GenericSchema) : (v.getMetadata(entry) as Marks);
}

/** What integrations may hold for a setting: its text is one that the header may have. */
function toStored(entry: v.GenericSchema, stored: v.GenericSchema = PlainText): v.GenericSchema {
  const check = v.rawCheck<unknown>(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const { value } = dataset;
    const result = v.safeParse(entry, typeof value === "string" ? value : JSON.stringify(value), firstPlainIssue);
    if (!result.success) addIssue({ message: result.issues[0].message });
  });
  return v.pipe(stored, check);
}

const noMarks: SettingMarks = {
  isSecret: false,
  isHidden: false,
  shapesAddress: false,
  choosesPlace: false,
  isBaseAddress: false,
  isOfFile: false,
};

function toSetting(
  { name, header }: { name: string; header: string },
  entry: v.GenericSchema,
  {
    others = [],
    hidesUnmarked = false,
  }: { others?: readonly string[] | undefined; hidesUnmarked?: boolean | undefined },
): ProviderSetting {
  const { stored, ...marks } = marksOf(entry);
  const member = header.replaceAll("-", "_");
  const isHidden = hidesUnmarked && Object.keys(marks).length === 0;
  return {
    ...noMarks,
    isHidden,
    ...marks,
    name,
    header,
    member,
    names: [member, ...others],
    stored: toStored(entry, stored),
  };
}

/** Settings under their names in configs and integrations, with their attributes. */
export function listSettings(definition: SettingsDefinition<unknown>): ProviderSetting[] {
  const { configNames = {}, schema, hidesUnmarked } = definition;
  return settingHeaders(definition).flatMap((named) => {
    const entry = schema.entries[named.name];
    const others = configNames[named.name];
    return entry ? [toSetting(named, entry as v.GenericSchema, { others, hidesUnmarked })] : []; // none is async
  });
}

/** Members that are taken and that nothing reads, as `listSettings`. */
export function listUnread({ unread = {}, hidesUnmarked }: SettingsDefinition<unknown>): ProviderSetting[] {
  return Object.entries(unread).map(([name, entry]) => {
    const stored = entry as v.GenericSchema; // none is async
    return { ...toSetting({ name, header: name.replaceAll("_", "-") }, stored, { hidesUnmarked }), stored };
  });
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
 * Settings of a provider from the values of their headers.
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
