import { Input, NumberInput, Select } from "@mantine/core";
import { type ReactNode, useId, useState } from "react";
import { text } from "@/text/frame.ts";
import classes from "./duration-input.module.css";
import type { FieldProps } from "./types.ts";

const words = text.durations;

const secondsOf = { seconds: 1, minutes: 60, hours: 3_600, days: 86_400 } as const;
type Unit = keyof typeof secondsOf;

const units: readonly Unit[] = ["seconds", "minutes", "hours", "days"];
const choices = units.map((value) => ({ value, label: words[value] }));
const isUnit = (value: unknown): value is Unit => units.some((unit) => unit === value);

/** The largest unit in which the seconds are a whole number. */
const unitOf = (seconds: number): Unit => units.findLast((unit) => seconds % secondsOf[unit] === 0) ?? "seconds";

/** A time in seconds, entered as a number and its unit. */
export function DurationInput({ field, value, onChange, error }: FieldProps): ReactNode {
  const id = useId();
  const seconds = typeof value === "number" ? value : undefined;
  const whileEmpty = isUnit(field.unit) ? field.unit : "seconds";
  const [unit, setUnit] = useState<Unit>(seconds === undefined || seconds === 0 ? whileEmpty : unitOf(seconds));
  const [typed, setTyped] = useState<number | string>(seconds === undefined ? "" : seconds / secondsOf[unit]);
  const change = (amount: number | string, next: Unit) => {
    setTyped(amount);
    setUnit(next);
    const number = typeof amount === "number" ? amount : Number.parseFloat(amount);
    onChange(Number.isNaN(number) ? "" : Math.round(number * secondsOf[next]));
  };
  return (
    <Input.Wrapper
      id={id}
      label={field.label}
      description={field.help}
      withAsterisk={field.required === true}
      error={error}
      inputWrapperOrder={["label", "input", "description", "error"]}
    >
      <div className={classes.line} data-helped={field.help !== undefined || undefined}>
        <NumberInput
          id={id}
          className={classes.amount ?? ""}
          value={typed}
          min={0}
          placeholder={field.placeholder}
          error={error !== undefined}
          disabled={field.isFixed === true}
          onChange={(amount) => change(amount, unit)}
        />
        <Select
          className={classes.unit ?? ""}
          aria-label={words.unitOf({ label: field.label })}
          data={choices}
          value={unit}
          allowDeselect={false}
          disabled={field.isFixed === true}
          onChange={(next) => isUnit(next) && change(typed, next)}
        />
      </div>
    </Input.Wrapper>
  );
}
