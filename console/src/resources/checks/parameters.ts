import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import { text } from "../../text/text.ts";
import type { FieldKind } from "../field-kind.ts";
import { labelOf, labelOfValue } from "./words.ts";

/** What is said of members and their values. */
export interface ParameterWords {
  readonly labelOf: (name: string, schema: JsonObject) => string;
  readonly helpOf: (name: string, schema: JsonObject) => string | undefined;
  readonly labelOfValue: (name: string, value: unknown) => string;
  /** What an empty input means; undefined: nothing in particular. */
  readonly emptyOf: (name: string) => string | undefined;
}

/** Members of checks and of settings in words. */
export const checkWords: ParameterWords = {
  labelOf,
  helpOf: (name) => text.checks.help[name],
  labelOfValue,
  emptyOf: (name) => text.checks.empty[name],
};

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
  readonly words: ParameterWords;
}

/** The schemas of which one applies, without null. */
export function branchesOf(schema: unknown): readonly JsonObject[] {
  if (!isJsonObject(schema) || schema.type === "null") return [];
  const branches = [schema.anyOf, schema.oneOf].find(Array.isArray);
  return branches === undefined ? [schema] : branches.flatMap(branchesOf);
}

export const isNumberList = ({ type, items }: JsonObject): boolean =>
  type === "array" && isJsonObject(items) && isNumber(items);
const isList = (schema: JsonObject): boolean => {
  const { type, items } = schema;
  return (type === "array" && isJsonObject(items) && items.type === "string") || isNumberList(schema);
};
export const isText = ({ type, enum: list }: JsonObject): boolean => type === "string" && list === undefined;
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

function toParameter(name: string, schema: JsonObject, required: boolean, words: ParameterWords): Parameter {
  const branches = branchesOf(schema);
  const kind = kindOf(branches, schema.default);
  const items = branches.flatMap(({ items }) => (isJsonObject(items) ? choicesOf(items) : []));
  const help = words.helpOf(name, schema);
  return {
    name,
    label: words.labelOf(name, schema),
    ...(help !== undefined && { help }),
    kind,
    choices: kind === "multi" ? items : kind === "select" ? branches.flatMap(choicesOf) : [],
    required: required && schema.default === undefined,
    ...(schema.default !== undefined && { initial: schema.default }),
    schema,
    words,
  };
}

/** The members of an object's schema. */
export function parametersOf(schema: unknown, words: ParameterWords = checkWords): readonly Parameter[] {
  if (!isJsonObject(schema) || !isJsonObject(schema.properties)) return [];
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(schema.properties).map(([name, member]) =>
    toParameter(name, isJsonObject(member) ? member : {}, required.includes(name), words),
  );
}
