import { isJsonObject, type JsonObject } from "@/lib/json.ts";
import { text } from "@/text/text.ts";
import type { FieldKind, OptionSource } from "../types.ts";
import { labelOf, labelOfValue } from "./words.ts";

/** A member of an object with a JSON schema, and how it is asked for. */
export interface Parameter {
  readonly name: string;
  readonly label: string;
  readonly help?: string;
  readonly kind: FieldKind;
  /** Values to choose from, which may be numbers or booleans. */
  readonly choices: readonly unknown[];
  readonly required: boolean;
  readonly initial?: unknown;
  readonly schema: JsonObject;
  /** Rows of the API to choose from. */
  readonly source?: OptionSource;
}

/** The schemas of which one applies, without null. */
function branchesOf(schema: unknown): readonly JsonObject[] {
  if (!isJsonObject(schema) || schema.type === "null") return [];
  const branches = [schema.anyOf, schema.oneOf].find(Array.isArray);
  return branches === undefined ? [schema] : branches.flatMap(branchesOf);
}

const isList = ({ type, items }: JsonObject): boolean =>
  type === "array" && isJsonObject(items) && items.type === "string";
const isText = ({ type, enum: list }: JsonObject): boolean => type === "string" && list === undefined;
const isNumber = ({ type, enum: list }: JsonObject): boolean =>
  (type === "number" || type === "integer") && list === undefined;
const choicesOf = ({ type, enum: list }: JsonObject): readonly unknown[] =>
  Array.isArray(list) ? list : type === "boolean" ? [true, false] : [];

/** A switch that may also be 0 or 1. */
const isFlag = (branches: readonly JsonObject[]): boolean =>
  branches.length === 2 && branches[0]?.type === "boolean" && String(branches[1]?.enum) === "0,1";

function kindOf(branches: readonly JsonObject[], initial: unknown): FieldKind {
  if (branches.length === 0) return "json";
  if (isFlag(branches)) return "switch";
  // where neither is the default, leaving it out says a third thing
  if (branches.every(({ type }) => type === "boolean")) return initial === undefined ? "select" : "switch";
  if (branches.every((branch) => choicesOf(branch).length > 0)) return "select";
  if (branches.every(isNumber)) return "number";
  if (branches.every((branch) => isText(branch) || isNumber(branch))) return "text";
  if (branches.every((branch) => isText(branch) || isList(branch))) {
    return branches.some(({ items }) => isJsonObject(items) && Array.isArray(items.enum)) ? "multi" : "tags";
  }
  return "json";
}

function toParameter(name: string, schema: JsonObject, required: boolean): Parameter {
  const branches = branchesOf(schema);
  const kind = kindOf(branches, schema.default);
  const items = branches.flatMap(({ items }) => (isJsonObject(items) ? choicesOf(items) : []));
  const help = text.checks.help[name];
  return {
    name,
    label: labelOf(name),
    ...(help !== undefined && { help }),
    kind,
    choices: kind === "multi" ? items : kind === "select" ? branches.flatMap(choicesOf) : [],
    required: required && schema.default === undefined,
    ...(schema.default !== undefined && { initial: schema.default }),
    schema,
  };
}

/** The members of an object's schema. */
export function parametersOf(schema: unknown): readonly Parameter[] {
  if (!isJsonObject(schema) || !isJsonObject(schema.properties)) return [];
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(schema.properties).map(([name, member]) =>
    toParameter(name, isJsonObject(member) ? member : {}, required.includes(name)),
  );
}

/** Whether the input of a parameter can show a value without losing anything. */
export function fits({ kind, schema }: Parameter, value: unknown): boolean {
  if (value === undefined || value === null || kind === "json") return true;
  const isPlain = typeof value === "string" || (typeof value === "number" && !branchesOf(schema).every(isText));
  if (kind === "number") return typeof value === "number";
  if (kind === "text") return isPlain;
  if (kind === "switch") return typeof value === "boolean" || value === 0 || value === 1;
  if (kind === "select") return typeof value !== "object";
  return typeof value === "string" || (Array.isArray(value) && value.every((one) => typeof one === "string"));
}

/** What stands for a default in an empty input. */
export function placeholderOf({ name, kind, initial, required }: Parameter): string | undefined {
  if (text.checks.empty[name] !== undefined) return text.checks.empty[name];
  if (initial === undefined || initial === null || typeof initial === "object" || initial === "") {
    return kind === "select" && !required ? text.checks.notSet : undefined;
  }
  return text.checks.byDefault(kind === "select" ? labelOfValue(name, initial) : String(initial));
}
