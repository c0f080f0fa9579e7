import type { SettingsForm } from "@/api/settings.gen.ts";
import { isJsonObject, type JsonObject } from "@/lib/json.ts";
import { labelOfSetting } from "@/resources/setting-label.ts";
import { text } from "@/text/text.ts";
import { checkWords, type Parameter, parametersOf } from "../checks/parameters.ts";
import { choices as optionChoices } from "../options.ts";
import type { Field } from "../types.ts";
import type { SettingsDraft } from "./settings-draft.ts";

const words = text.resources.settings;

/** One setting of an integration, and how it is asked for. */
export interface Setting {
  readonly path: string;
  readonly isSecret: boolean;
  readonly parameter: Parameter;
  /** Of a list of small records: the inputs of each. */
  readonly columns?: readonly Field[];
  /** Of a small record: its inputs. */
  readonly parts?: readonly Parameter[];
}

/** Values to choose from, where the schema only says that it is a text. */
const choices: Readonly<Record<string, readonly string[]>> = {
  azure_auth_mode: ["default", "entra", "managed", "workload", "entraFederated"],
  "oauth.auth_method": ["basic", "post"],
};

/** Members that are lists of names in most cases. */
const lists: ReadonlySet<string> = new Set(["forward_headers"]);

function schemaOf(path: string, schema: JsonObject): JsonObject {
  const listed = choices[path];
  if (listed !== undefined && schema.enum === undefined) return { type: "string", enum: listed };
  if (lists.has(path)) return { type: "array", items: { type: "string" } };
  // where the schema says nothing, it is a text
  const says = ["type", "anyOf", "oneOf", "enum"].some((name) => schema[name] !== undefined);
  return says ? schema : { type: "string" };
}

function columnsOf({ type, items }: JsonObject): readonly Field[] | undefined {
  if (type !== "array" || !isJsonObject(items) || items.type !== "object") return undefined;
  return parametersOf(items).flatMap(({ name, kind, choices: values, required }): Field[] => {
    const field = { name, label: labelOfSetting(name), required };
    if (values.every((value) => typeof value === "boolean") && kind !== "text") return [{ ...field, kind: "switch" }];
    if (kind === "text") return [{ ...field, kind }];
    return kind === "select" ? [{ ...field, kind, options: optionChoices(...values.map(String)) }] : [];
  });
}

function partsOf({ type, properties }: JsonObject): readonly Parameter[] | undefined {
  if (type !== "object" || !isJsonObject(properties)) return undefined;
  const parts = parametersOf({ properties }).map((one) => ({ ...one, label: labelOfSetting(one.name) }));
  return parts.length === 0 || parts.some(({ kind }) => kind === "json") ? undefined : parts;
}

function toSetting(path: string, form: SettingsForm, isRequired: boolean): Setting {
  const { schema = {}, secret = false } = form.members[path] ?? {};
  const read = schemaOf(path, schema);
  const [parameter] = parametersOf({ properties: { [path]: read }, required: isRequired ? [path] : [] });
  const help = words.help[path];
  const columns = columnsOf(read);
  const parts = partsOf(read);
  return {
    path,
    isSecret: secret,
    parameter: {
      name: path,
      kind: "text",
      choices: [],
      schema: read,
      words: checkWords,
      required: isRequired,
      ...parameter,
      label: labelOfSetting(path),
      ...(help !== undefined && { help }),
    },
    ...(columns !== undefined && { columns }),
    ...(parts !== undefined && { parts }),
  };
}

/** A part of the settings that is folded away until it is used. */
export interface SettingsGroup {
  readonly label: string;
  readonly settings: readonly Setting[];
}

/** Settings in the order of the form: what is needed first, then groups of what is not. */
export function arrange(
  form: SettingsForm,
  draft: SettingsDraft,
): { readonly main: readonly Setting[]; readonly groups: readonly SettingsGroup[] } {
  const { required, choice } = form;
  const chosen = choice === undefined ? undefined : draft.read(choice.member);
  const ofChoice = chosen === undefined ? choice?.absent : choice?.required[String(chosen)];
  const needed = new Set([...required, ...(ofChoice ?? [])]);
  const ofOthers = new Set(Object.values(choice?.required ?? {}).flat());
  const isSet = (path: string) => draft.read(path) !== undefined || draft.maskOf(path) !== undefined;
  const paths = Object.keys(form.members).filter((path) => needed.has(path) || isSet(path) || !ofOthers.has(path));
  const own = paths.filter((path) => !path.includes(".") && path !== "custom_host");
  const isMain = (path: string) => own.length <= 5 || needed.has(path) || path === choice?.member || ofOthers.has(path);
  const order = (path: string) => (path === choice?.member ? 0 : needed.has(path) ? 1 : 2);
  const toSettings = (list: readonly string[]) => list.map((path) => toSetting(path, form, needed.has(path)));
  const main = own.filter(isMain).sort((one, other) => order(one) - order(other));
  const groups = Map.groupBy(
    paths.filter((path) => !main.includes(path) && path !== "custom_host"),
    (path) => (path.includes(".") ? path.slice(0, path.indexOf(".")) : ""),
  );
  return {
    main: toSettings([...main, ...(form.members.custom_host === undefined ? [] : ["custom_host"])]),
    groups: [...groups].map(([group, list]) => ({
      label: words.groups[group] ?? text.common.more,
      settings: toSettings(list),
    })),
  };
}
