import { ActionIcon, Button, Input } from "@mantine/core";
import { type ComponentType, type ReactNode, useState } from "react";
import { Icon } from "@/components/icons.tsx";
import { text } from "@/text/frame.ts";
import classes from "./rows-input.module.css";
import type { Field, FieldProps, Values } from "./types.ts";

interface RowsInputProps {
  readonly field: Field;
  readonly value: readonly Values[];
  readonly onChange: (value: readonly Values[]) => void;
  readonly error?: string | undefined;
  /** What asks for the value of a column. */
  readonly input: ComponentType<FieldProps>;
}

/** A list of small records: a line of inputs for each. */
export function RowsInput({ field, value, onChange, error, input: CellInput }: RowsInputProps): ReactNode {
  const { label, help, required, columns = [], most = 100 } = field;
  // lines have no id: one that is removed must not hand its inputs to the next
  const [keys, setKeys] = useState<readonly number[]>(() => value.map((_, index) => index));
  const add = () => {
    setKeys([...keys, Math.max(-1, ...keys) + 1]);
    onChange([...value, Object.fromEntries(columns.map(({ name, initial }) => [name, initial]))]);
  };
  const remove = (at: number) => {
    setKeys(keys.filter((_, index) => index !== at));
    onChange(value.filter((_, index) => index !== at));
  };
  const change = (at: number, name: string, next: unknown) =>
    onChange(value.map((row, index) => (index === at ? { ...row, [name]: next } : row)));
  return (
    <Input.Wrapper
      label={label}
      description={help}
      withAsterisk={required === true}
      error={error}
      labelElement="div"
      inputContainer={(lines) => <div className={classes.lines}>{lines}</div>}
    >
      {value.map((row, index) => (
        <fieldset key={keys[index] ?? index} className={classes.line} aria-label={`${label} ${index + 1}`}>
          {columns
            .filter(({ when }) => when === undefined || when(row))
            .map((column) => (
              <div key={column.name} className={classes.cell}>
                <CellInput
                  field={{ ...column, ...column.ofLine?.(row) }}
                  value={row[column.name]}
                  onChange={(next) => change(index, column.name, next)}
                />
              </div>
            ))}
          <ActionIcon
            className={classes.remove ?? ""}
            variant="subtle"
            color="gray"
            aria-label={text.common.removeLine({ list: label, line: index + 1 })}
            onClick={() => remove(index)}
          >
            <Icon name="close" size={14} />
          </ActionIcon>
        </fieldset>
      ))}
      {value.length < most && (
        <Button variant="default" size="xs" leftSection={<Icon name="plus" size={14} />} onClick={add}>
          {field.add ?? text.common.addLine}
        </Button>
      )}
    </Input.Wrapper>
  );
}
