import type { JsonObject } from "../../lib/json.ts";
import { text } from "../../text/text.ts";
import type { FieldKind } from "../field-kind.ts";
import { Draft } from "./draft.ts";
import { branchesOf, isNumberList, isText, type Parameter } from "./parameters.ts";

/** The field that asks for a parameter. */
interface ParameterField {
  readonly name: string;
  readonly label: string;
  readonly kind: FieldKind;
  readonly required: boolean;
  readonly help?: string;
  readonly placeholder?: string;
  readonly options?: readonly { readonly value: string; readonly label: string }[];
  readonly schema?: JsonObject;
}

/** Whether a value is one of those that a list of names or numbers holds. */
const isEntry = (value: unknown): boolean => typeof value === "string" || typeof value === "number";

/** Whether the input of a parameter can show a value without losing anything. */
function fits({ kind, schema }: Parameter, value: unknown): boolean {
  if (value === undefined || value === null || kind === "json") return true;
  const branches = branchesOf(schema);
  const isPlain = typeof value === "string" || (typeof value === "number" && !branches.every(isText));
  if (kind === "number") return typeof value === "number";
  if (kind === "text") return isPlain;
  if (kind === "switch") return typeof value === "boolean" || value === 0 || value === 1;
  if (kind === "select") return typeof value !== "object";
  const holds = branches.some(isNumberList) ? isEntry : (one: unknown) => typeof one === "string";
  return typeof value === "string" || (Array.isArray(value) && value.every(holds));
}

/** What stands for a default in an empty input. */
function placeholderOf({ name, kind, initial, required, words }: Parameter): string | undefined {
  const said = words.emptyOf(name);
  if (said !== undefined) return said;
  if (initial === undefined || initial === null || typeof initial === "object" || initial === "") {
    return kind === "select" && !required ? text.checks.notSet : undefined;
  }
  return text.checks.byDefault({ value: kind === "select" ? words.labelOfValue(name, initial) : String(initial) });
}

/** The choices with what is set, which may be none of them. */
function optionsOf({ name, kind, choices, words }: Parameter, value: unknown) {
  const set = kind === "multi" ? [value].flat() : [value];
  const all = [...choices, ...set.filter((one) => one !== undefined && one !== null && !choices.includes(one))];
  return all.map((one) => ({ value: String(one), label: words.labelOfValue(name, one) }));
}

/** The field that asks for a parameter: as JSON where its own input cannot show the value. */
export function toField(parameter: Parameter, value: unknown): ParameterField {
  const { name, label, help, required, schema } = parameter;
  // JSON shows every value
  const kind = value instanceof Draft ? value.kind : fits(parameter, value) ? parameter.kind : "json";
  const placeholder = placeholderOf(parameter);
  return {
    name,
    label,
    kind,
    required,
    ...(help !== undefined && { help }),
    ...(placeholder !== undefined && { placeholder }),
    ...((kind === "select" || kind === "multi") && { options: optionsOf(parameter, value) }),
    ...(kind === "json" && { schema }),
  };
}

/** A value as the input of its field shows it. */
export function toShown({ kind }: ParameterField, { initial }: Parameter, value: unknown): unknown {
  if (value instanceof Draft) return value.typed;
  if (kind === "switch") return value ?? initial;
  if (value === null) return undefined;
  return kind === "json" && value !== undefined ? JSON.stringify(value, undefined, 2) : value;
}

/** An entry of a list of numbers; one that is no number stays as it was typed. */
const toNumber = (typed: unknown): unknown =>
  typeof typed === "string" && typed.trim() !== "" && !Number.isNaN(Number(typed)) ? Number(typed) : typed;

/** What an input says, as the value of a parameter. */
export function readInput({ kind, label }: ParameterField, { choices, schema }: Parameter, typed: unknown): unknown {
  if (typed === undefined || typed === "" || (Array.isArray(typed) && typed.length === 0)) return undefined;
  if (kind === "json") return new Draft(label, String(typed), "json");
  if (kind === "number" && typeof typed === "string") return new Draft(label, typed, "number");
  if (kind === "tags" && Array.isArray(typed) && branchesOf(schema).some(isNumberList)) return typed.map(toNumber);
  return kind === "select" ? (choices.find((one) => String(one) === typed) ?? typed) : typed;
}
