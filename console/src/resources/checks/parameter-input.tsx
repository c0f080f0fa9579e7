import type { ReactNode } from "react";
import { FieldInput } from "../field-input.tsx";
import type { OptionSource } from "../types.ts";
import { readInput, toField, toShown } from "./parameter-field.ts";
import type { Parameter } from "./parameters.ts";

/** A parameter whose values are rows of the API. */
export interface SourcedParameter extends Parameter {
  readonly source?: OptionSource;
}

interface ParameterInputProps {
  readonly parameter: SourcedParameter;
  readonly value: unknown;
  /** undefined: leave it out. */
  readonly onChange: (value: unknown) => void;
  readonly error?: string | undefined;
}

/** The input of one parameter, by its schema. */
export function ParameterInput({ parameter, value, onChange, error }: ParameterInputProps): ReactNode {
  const field = toField(parameter, value);
  const hasOptions = field.options !== undefined;
  return (
    <div data-kind={field.kind}>
      <FieldInput
        field={hasOptions && parameter.source !== undefined ? { ...field, options: parameter.source } : field}
        value={toShown(field, parameter, value)}
        onChange={(typed) => onChange(readInput(field, parameter, typed))}
        error={error}
      />
    </div>
  );
}
