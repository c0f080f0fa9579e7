import { ActionIcon, Group, Switch, Text } from "@mantine/core";
import { type ReactNode, useEffect, useRef } from "react";
import { Folded } from "@/components/folded.tsx";
import { Icon } from "@/components/icons.tsx";
import { isJsonObject, type JsonObject, textOf } from "@/lib/json.ts";
import { text } from "@/text/text.ts";
import { type CatalogCheck, findCheck, splitParameters } from "./catalog.ts";
import classes from "./checks.module.css";
import { withMember } from "./draft.ts";
import { ParameterInput } from "./parameter-input.tsx";
import { checkWords, type Parameter } from "./parameters.ts";
import { labelOf, nameOfCheck, vendorOf } from "./words.ts";

const words = text.checks;

interface CheckCardProps {
  readonly place: number;
  readonly check: JsonObject;
  readonly catalog: readonly CatalogCheck[];
  /** It was just added: its first input gets the focus. */
  readonly isNew: boolean;
  readonly onChange: (check: JsonObject) => void;
  readonly buttons: ReactNode;
}

/** One check of a guardrail: whether it is on, and its parameters. */
export function CheckCard({ place, check, catalog, isNew, onChange, buttons }: CheckCardProps): ReactNode {
  const card = useRef<HTMLFieldSetElement>(null);
  const id = textOf(check.id);
  const name = nameOfCheck(id);
  const known = findCheck(catalog, id);
  const { own, common } = known === undefined ? { own: [], common: [] } : splitParameters(catalog, known);
  useEffect(() => {
    if (!isNew) return;
    const first = card.current?.querySelector<HTMLElement>("[data-kind] :is(input, textarea)") ?? card.current;
    first?.focus();
  }, [isNew]);
  return (
    <fieldset ref={card} tabIndex={-1} className={classes.card} aria-label={words.placed({ place, name })}>
      <Group justify="space-between" gap="xs">
        <div className={classes.name}>
          <strong>{name}</strong>{" "}
          <Text span size="xs" c="dimmed">
            {vendorOf(id)}
          </Text>
        </div>
        <Group gap="xs" wrap="nowrap">
          <Switch
            label={words.enabled}
            checked={check.is_enabled !== false && check.is_enabled !== 0}
            onChange={(event) => onChange({ ...check, is_enabled: event.currentTarget.checked })}
          />
          {buttons}
        </Group>
      </Group>
      <ParameterFields check={check} own={own} common={common} onChange={onChange} />
    </fieldset>
  );
}

interface CheckButtonsProps {
  readonly name: string;
  readonly place: number;
  readonly isLast: boolean;
  /** Moves the check by a number of places. */
  readonly onMove: (by: number) => void;
  readonly onRemove: () => void;
}

/** Moves a check up and down, and removes it. */
export function CheckButtons({ name, place, isLast, onMove, onRemove }: CheckButtonsProps): ReactNode {
  const moves = [
    { by: -1, icon: "up", label: words.moveUp({ name }), disabled: place === 1 },
    { by: 1, icon: "down", label: words.moveDown({ name }), disabled: isLast },
  ] as const;
  return (
    <Group gap={2} wrap="nowrap">
      {moves.map(({ by, icon, label, disabled }) => (
        <ActionIcon
          key={by}
          data-move={by}
          variant="subtle"
          color="gray"
          aria-label={label}
          disabled={disabled}
          {...(disabled && { bg: "transparent" })}
          onClick={() => onMove(by)}
        >
          <Icon name={icon} size={14} />
        </ActionIcon>
      ))}
      <ActionIcon variant="subtle" color="gray" aria-label={words.remove({ name })} onClick={onRemove}>
        <Icon name="trash" size={14} />
      </ActionIcon>
    </Group>
  );
}

interface ParameterFieldsProps {
  readonly check: JsonObject;
  readonly own: readonly Parameter[];
  readonly common: readonly Parameter[];
  readonly onChange: (check: JsonObject) => void;
}

/** Parameters that are set and that no schema names: they are edited as JSON. */
function unnamed(parameters: JsonObject, known: readonly Parameter[]): readonly Parameter[] {
  return Object.keys(parameters)
    .filter((name) => !known.some((parameter) => parameter.name === name))
    .map((name) => ({ name, label: labelOf(name), ...textParameter, kind: "json", schema: {} }));
}

function ParameterFields({ check, own, common, onChange }: ParameterFieldsProps): ReactNode {
  const parameters = isJsonObject(check.parameters) ? check.parameters : {};
  const others = unnamed(parameters, [...own, ...common]);
  const change = (name: string) => (value: unknown) =>
    onChange({ ...check, parameters: withMember(parameters, name, value) });
  const inputs = (list: readonly Parameter[]) =>
    list.map((parameter) => (
      <ParameterInput
        key={parameter.name}
        parameter={parameter}
        value={parameters[parameter.name]}
        onChange={change(parameter.name)}
      />
    ));
  return (
    <>
      {own.some(({ kind }) => kind !== "switch") && (
        <div className={classes.fields}>{inputs(own.filter(({ kind }) => kind !== "switch"))}</div>
      )}
      {own.some(({ kind }) => kind === "switch") && (
        <div className={classes.switches}>{inputs(own.filter(({ kind }) => kind === "switch"))}</div>
      )}
      <Folded label={text.common.more}>
        <div className={classes.fields} data-more>
          {inputs(common)}
          {inputs(others)}
          <ParameterInput
            parameter={{ name: "name", label: words.ownName, help: words.ownNameHelp, ...textParameter }}
            value={check.name}
            onChange={(name) => onChange(withMember(check, "name", name))}
          />
        </div>
      </Folded>
    </>
  );
}

const textParameter = {
  kind: "text",
  choices: [],
  required: false,
  schema: { type: "string" },
  words: checkWords,
} as const;
