import { Input, Stack } from "@mantine/core";
import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { Failure, Waiting } from "@/components/states.tsx";
import { isJsonObject, type JsonObject, textOf } from "@/lib/json.ts";
import type { FieldProps } from "../types.ts";
import { useCatalog } from "./catalog.ts";
import { CheckButtons, CheckCard } from "./check-card.tsx";
import { CheckPicker } from "./check-picker.tsx";
import classes from "./checks.module.css";
import { nameOfCheck } from "./words.ts";

/** A list with one of its members moved by a number of places. */
function moved<T>(list: readonly T[], place: number, by: number): readonly T[] {
  const others = list.filter((_, index) => index !== place);
  return [...others.slice(0, place + by), ...list.slice(place, place + 1), ...others.slice(place + by)];
}

/** The checks of a guardrail, each with its parameters. */
export function ChecksInput({ field, value, onChange, error }: FieldProps): ReactNode {
  const checks = Array.isArray(value) ? value.filter(isJsonObject) : [];
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
  const change = (place: number, check: JsonObject) =>
    onChange(checks.map((one, index) => (index === place ? check : one)));
  const remove = (place: number) => {
    setKeys(keys.filter((_, index) => index !== place));
    onChange(checks.filter((_, index) => index !== place));
    list.current?.focus();
  };
  const { move, focus } = useMoves((place, by) => {
    setKeys([...moved(keys, place, by)]);
    onChange(moved(checks, place, by));
  });
  useLayoutEffect(() => focus(list.current));
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
              buttons={
                <CheckButtons
                  name={nameOfCheck(textOf(check.id))}
                  place={place + 1}
                  isLast={place === checks.length - 1}
                  onMove={(by) => move(place, by)}
                  onRemove={() => remove(place)}
                />
              }
            />
          ))}
        {data !== undefined && <CheckPicker key={keys.join()} checks={data} onAdd={add} />}
        {error !== undefined && <Input.Error>{error}</Input.Error>}
      </Stack>
    </fieldset>
  );
}

/** Moves a check; the button that did it has the focus afterwards, or the other one at the end of the list. */
function useMoves(onMove: (place: number, by: number) => void) {
  const pending = useRef<{ readonly to: number; readonly by: number }>(undefined);
  return {
    move(place: number, by: number) {
      pending.current = { to: place + by, by };
      onMove(place, by);
    },
    focus(list: HTMLElement | null) {
      if (pending.current === undefined) return;
      const { to, by } = pending.current;
      pending.current = undefined;
      const buttons = [...(list?.children ?? [])].flatMap((part) => [
        ...part.querySelectorAll<HTMLButtonElement>("fieldset [data-move]"),
      ]);
      const own = buttons.slice(to * 2, to * 2 + 2).filter(({ disabled }) => !disabled);
      (own.find(({ dataset }) => Number(dataset.move) === by) ?? own[0])?.focus();
    },
  };
}
