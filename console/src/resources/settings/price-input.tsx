import { type ReactNode, useState } from "react";
import { isJsonObject, type JsonObject } from "@/lib/json.ts";
import { text } from "@/text/text.ts";
import { FieldInput } from "../field-input.tsx";
import { toOptions } from "../options.ts";
import { RowsInput } from "../rows-input.tsx";
import type { Field, FieldProps } from "../types.ts";

const words = text.resources.integrations;

/** Members of the factors that are objects: they stay as they are. */
const nested: ReadonlySet<string> = new Set(["image", "additional_units"]);

const columns: readonly Field[] = [
  {
    name: "of",
    label: words.factorFor,
    kind: "select",
    required: true,
    initial: "default",
    options: toOptions(words.factors).filter(({ value }) => !nested.has(value)),
  },
  { name: "factor", label: words.factor, kind: "number", required: true },
];

const factorsOf = (value: unknown): JsonObject =>
  isJsonObject(value) && isJsonObject(value.multiplier) ? value.multiplier : {};

/** Factors of the list prices, a line each. */
export function PriceInput({ field, value, onChange, error }: FieldProps): ReactNode {
  const given = Object.entries(factorsOf(value));
  const [lines, setLines] = useState<readonly JsonObject[]>(() =>
    given.filter(([name]) => !nested.has(name)).map(([of, factor]) => ({ of, factor })),
  );
  const change = (next: readonly JsonObject[]) => {
    setLines(next);
    const factors = next
      .filter(({ of, factor }) => typeof of === "string" && factor !== undefined && factor !== "")
      .map(({ of, factor }) => [String(of), Number(factor)] as const);
    const multiplier = Object.fromEntries([...given.filter(([name]) => nested.has(name)), ...factors]);
    onChange(Object.keys(multiplier).length === 0 ? undefined : { multiplier });
  };
  return (
    <RowsInput
      input={FieldInput}
      field={{ ...field, kind: "rows", add: words.addFactor, columns }}
      value={lines}
      onChange={change}
      error={error}
    />
  );
}
