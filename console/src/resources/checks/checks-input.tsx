import { Input, Stack } from "@mantine/core";
import { type ReactNode, useRef, useState } from "react";
import { Failure, Waiting } from "@/components/states.tsx";
import { isRow, type Row } from "@/lib/read.ts";
import type { FieldProps } from "../types.ts";
import { useCatalog } from "./catalog.ts";
import { CheckCard } from "./check-card.tsx";
import { CheckPicker } from "./check-picker.tsx";
import classes from "./checks.module.css";

/** The checks of a guardrail, each with its parameters. */
export function ChecksInput({ field, value, onChange, error }: FieldProps): ReactNode {
  const checks = Array.isArray(value) ? value.filter(isRow) : [];
  const { data, error: failure, isPending, refetch } = useCatalog();
  const list = useRef<HTMLFieldSetElement>(null);
  // checks have no ids of their own: two may be the same
  const [keys, setKeys] = useState(() => checks.map((_, place) => place));
  const [added, setAdded] = useState<number>();
  const catalog = data ?? [];

  const add = (id: string) => {
    const key = Math.max(-1, ...keys) + 1;
    setKeys([...keys, key]);
    setAdded(key);
    onChange([...checks, { id, parameters: {} }]);
  };
  const change = (place: number, check: Row) => onChange(checks.map((one, index) => (index === place ? check : one)));
  const remove = (place: number) => {
    setKeys(keys.filter((_, index) => index !== place));
    onChange(checks.filter((_, index) => index !== place));
    list.current?.focus();
  };
  return (
    <fieldset ref={list} tabIndex={-1} className={classes.checks} aria-label={field.label}>
      <Input.Label labelElement="div" size="xs" required={field.required === true}>
        {field.label}
      </Input.Label>
      <Stack gap="sm">
        {failure !== null && <Failure error={failure} onRetry={() => void refetch()} />}
        {isPending && <Waiting />}
        {!isPending &&
          checks.map((check, place) => (
            <CheckCard
              key={keys[place] ?? place}
              place={place + 1}
              check={check}
              catalog={catalog}
              isNew={keys[place] === added}
              onChange={(next) => change(place, next)}
              onRemove={() => remove(place)}
            />
          ))}
        {data !== undefined && <CheckPicker key={keys.join()} checks={data} onAdd={add} />}
        {error !== undefined && <Input.Error>{error}</Input.Error>}
      </Stack>
    </fieldset>
  );
}
