import { Input, NumberInput, Select } from "@mantine/core";
import { type ReactNode, useId } from "react";
import { isJsonObject, type JsonObject, textOf } from "@/lib/json.ts";
import { text } from "@/text/text.ts";
import classes from "./budget-input.module.css";
import { choices, toOptions } from "./options.ts";
import type { FieldProps } from "./types.ts";

const words = text.resources.keys;

/** What a key may spend: an amount, what it counts and when it starts again. */
export function BudgetInput({ field, value, onChange, error }: FieldProps): ReactNode {
  const id = useId();
  const budget: JsonObject = isJsonObject(value) ? value : {};
  const amount = budget.credit_limit;
  const change = (member: string, next: unknown) => onChange({ ...budget, [member]: next });
  return (
    <Input.Wrapper
      id={id}
      label={field.label}
      description={field.help}
      error={error}
      inputWrapperOrder={["label", "input", "description", "error"]}
    >
      <div className={classes.line}>
        <NumberInput
          id={id}
          className={classes.amount ?? ""}
          value={typeof amount === "number" || typeof amount === "string" ? amount : ""}
          min={0}
          placeholder={field.placeholder}
          onChange={(next) => change("credit_limit", next)}
        />
        <Select
          className={classes.choice ?? ""}
          aria-label={words.limitType}
          data={[...toOptions(words.limitTypes)]}
          value={textOf(budget.type) || "cost"}
          allowDeselect={false}
          onChange={(next) => change("type", next)}
        />
        <Select
          className={classes.choice ?? ""}
          aria-label={words.reset}
          placeholder={words.neverResets}
          data={[...choices("weekly", "monthly")]}
          value={textOf(budget.periodic_reset) || null}
          clearable
          onChange={(next) => change("periodic_reset", next)}
        />
      </div>
    </Input.Wrapper>
  );
}
