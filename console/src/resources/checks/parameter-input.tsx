import type { ReactNode } from "react";
import { FieldInput } from "../field-input.tsx";
import type { Field } from "../types.ts";
import { Draft } from "./draft.ts";
import { fits, type Parameter, placeholderOf } from "./parameters.ts";
import { labelOfValue } from "./words.ts";

interface ParameterInputProps {
  readonly parameter: Parameter;
  readonly value: unknown;
  /** undefined: leave it out. */
  readonly onChange: (value: unknown) => void;
}

/** The choices with what is set, which may be none of them. */
function optionsOf({ name, kind, choices }: Parameter, value: unknown) {
  const set = kind === "multi" ? [value].flat() : [value];
  const all = [...choices, ...set.filter((one) => one !== undefined && one !== null && !choices.includes(one))];
  return all.map((one) => ({ value: String(one), label: labelOfValue(name, one) }));
}

function toField(parameter: Parameter, value: unknown): Field {
  const { name, label, help, required, schema, source } = parameter;
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
    ...((kind === "select" || kind === "multi") && { options: source ?? optionsOf(parameter, value) }),
    ...(kind === "json" && { schema }),
  };
}

function shownValue({ kind }: Field, { initial }: Parameter, value: unknown): unknown {
  if (value instanceof Draft) return value.typed;
  if (kind === "switch") return value ?? initial;
  if (value === null) return undefined;
  return kind === "json" && value !== undefined ? JSON.stringify(value, undefined, 2) : value;
}

/** What an input says, as the value of a parameter. */
function readInput({ kind, label }: Field, { choices }: Parameter, typed: unknown): unknown {
  if (typed === undefined || typed === "" || (Array.isArray(typed) && typed.length === 0)) return undefined;
  if (kind === "json") return new Draft(label, String(typed), "json");
  if (kind === "number" && typeof typed === "string") return new Draft(label, typed, "number");
  return kind === "select" ? (choices.find((one) => String(one) === typed) ?? typed) : typed;
}

/** The input of one parameter, by its schema. */
export function ParameterInput({ parameter, value, onChange }: ParameterInputProps): ReactNode {
  const field = toField(parameter, value);
  return (
    <div data-kind={field.kind}>
      <FieldInput
        field={field}
        value={shownValue(field, parameter, value)}
        onChange={(typed) => onChange(readInput(field, parameter, typed))}
      />
    </div>
  );
}
