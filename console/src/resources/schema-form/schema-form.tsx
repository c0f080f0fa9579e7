import { ActionIcon, Button, Group, Input, Text, TextInput } from "@mantine/core";
import { type ComponentType, type ReactNode, useMemo, useState } from "react";
import { Folded } from "@/components/folded.tsx";
import { Icon } from "@/components/icons.tsx";
import type { JsonObject } from "@/lib/json.ts";
import { text } from "@/text/text.ts";
import classes from "../checks/checks.module.css";
import { withMember } from "../checks/draft.ts";
import { ParameterInput } from "../checks/parameter-input.tsx";
import type { ParameterWords } from "../checks/parameters.ts";
import type { FieldMarks } from "../field-marks.ts";
import {
  isRecord,
  type KeyOf,
  memberBy,
  membersOfSchema,
  othersOf,
  type PlacedSchema,
  type SchemaMember,
  shapeOf,
  toObject,
} from "./schema-members.ts";

const words = text.schemaForm;

/** What an input of its own for a member gets. */
export interface MemberProps {
  readonly label: string;
  readonly help: string | undefined;
  readonly value: unknown;
  /** undefined: leave it out. */
  readonly onChange: (value: unknown) => void;
  readonly error: string | undefined;
}

/** What holds for all members of a form. */
export interface SchemaRules {
  readonly words: ParameterWords;
  readonly keyOf: KeyOf;
  /** Inputs by the dotted path of a member, places in lists left out; one without an input may hold other values as JSON. */
  readonly inputs?: Readonly<Record<string, ComponentType<MemberProps>>>;
  /** Whether an object needs a member that it does not have, by its dotted path. Default: each is asked for. */
  readonly asksFor?: (path: string, record: JsonObject) => boolean;
}

interface ObjectProps {
  readonly rules: SchemaRules;
  readonly placed: PlacedSchema;
  readonly value: JsonObject;
  readonly onChange: (value: JsonObject) => void;
  /** What is wrong, by dotted path below the value. */
  readonly marks: FieldMarks;
  /** Dotted path of the value in the form, without places in lists. */
  readonly path?: string;
}

interface SchemaFormProps extends ObjectProps {
  /** Names of the members to ask for; default: all that the schema names. */
  readonly only?: readonly string[];
}

/** The marks below a member. */
function marksIn(marks: FieldMarks, name: string | number): FieldMarks {
  const start = `${name}.`;
  const inside = Object.entries(marks).filter(([path]) => path.startsWith(start));
  return Object.fromEntries(inside.map(([path, message]) => [path.slice(start.length), message]));
}

/** What is said at a member whose inside has no inputs of its own. */
const markOf = (marks: FieldMarks, name: string): string | undefined =>
  Object.hasOwn(marks, name) ? marks[name] : Object.values(marksIn(marks, name))[0];

/** Inputs for the members of an object by its JSON schema. What the value has besides stays in it. */
export function SchemaForm(props: SchemaFormProps): ReactNode {
  const { rules, placed, value, onChange, marks, only, path = "" } = props;
  const members = useMemo(() => membersOfSchema(placed, rules.words), [placed, rules.words]);
  const shown =
    only === undefined ? members : only.flatMap((name) => members.find((one) => one.parameter.name === name) ?? []);
  return (
    <div className={classes.fields}>
      {shown.map((member) => {
        const { name } = member.parameter;
        const key = rules.keyOf(value, name);
        const own = memberBy(value, key);
        const place = path === "" ? name : `${path}.${name}`;
        if (own === undefined && rules.asksFor?.(place, value) === false) return null;
        return (
          <MemberInput
            key={name}
            rules={rules}
            member={member}
            path={place}
            value={own}
            onChange={(next) => onChange(withMember(value, key, next))}
            marks={marksIn(marks, key)}
            error={markOf(marks, key)}
          />
        );
      })}
    </div>
  );
}

interface MemberInputProps extends Omit<ObjectProps, "placed" | "value" | "onChange"> {
  readonly member: SchemaMember;
  readonly path: string;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly error: string | undefined;
}

function MemberInput(props: MemberInputProps): ReactNode {
  const { rules, member, path, value, onChange, error } = props;
  const { parameter, object } = member;
  const Own = rules.inputs?.[path];
  if (Own !== undefined) {
    return (
      <div data-kind="own">
        <Own label={parameter.label} help={parameter.help} value={value} onChange={onChange} error={error} />
      </div>
    );
  }
  const shape = shapeOf(member, value);
  if (shape === "object") return <ObjectInput {...props} />;
  if (shape === "list") return <ListInput {...props} />;
  if (object === undefined) return <ParameterInput {...{ parameter, value, onChange, error }} />;
  return (
    <div>
      <ParameterInput {...{ parameter, value, onChange, error }} />
      <Button variant="subtle" size="compact-xs" ml={-8} onClick={() => onChange(toObject(object, value))}>
        {words.moreOf({ label: parameter.label })}
      </Button>
    </div>
  );
}

/** An object as a part of the form that is folded until it is used. */
function ObjectInput({ rules, member, path, value, onChange, marks, error }: MemberInputProps): ReactNode {
  const { parameter, object } = member;
  if (object === undefined) return null;
  const record = isRecord(value) ? value : {};
  const isUsed = value !== undefined || parameter.required || error !== undefined;
  const change = (next: JsonObject) => onChange(Object.keys(next).length === 0 ? undefined : next);
  return (
    <fieldset className={classes.checks} data-kind="json" aria-label={parameter.label}>
      <Folded key={String(error !== undefined)} label={parameter.label} isOpen={isUsed}>
        <Help>{parameter.help}</Help>
        <SchemaForm {...{ rules, placed: object, path, value: record, marks, onChange: change }} />
        <OtherMembers {...{ rules, placed: object, value: record, marks, onChange: change }} />
      </Folded>
      {error !== undefined && Object.keys(marks).length === 0 && <Input.Error>{error}</Input.Error>}
    </fieldset>
  );
}

function Help({ children }: { readonly children: string | undefined }): ReactNode {
  if (children === undefined) return null;
  return (
    <Text size="xs" c="dimmed" mb="xs">
      {children}
    </Text>
  );
}

/** A list of objects, each with its inputs. */
function ListInput({ rules, member, path, value, onChange, marks, error }: MemberInputProps): ReactNode {
  const { parameter, items } = member;
  const { label } = parameter;
  const lines = Array.isArray(value) ? value.filter(isRecord) : [];
  if (items === undefined) return null;
  const change = (next: readonly JsonObject[]) => onChange(next.length === 0 ? undefined : next);
  const set = (at: number, line: JsonObject) => change(lines.map((one, index) => (index === at ? line : one)));
  return (
    <fieldset className={classes.checks} data-kind="json" aria-label={label}>
      <Input.Label labelElement="div" size="xs" required={parameter.required}>
        {label}
      </Input.Label>
      <Help>{parameter.help}</Help>
      <ol className={classes.list}>
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: entries have no name but their place
          <li key={index} className={classes.card}>
            <SchemaForm
              {...{ rules, placed: items, path, value: line, marks: marksIn(marks, index) }}
              onChange={(next) => set(index, next)}
            />
            <OtherMembers
              {...{ rules, placed: items, value: line, marks: marksIn(marks, index) }}
              onChange={(next) => set(index, next)}
            />
            <ListButtons label={label} place={index} lines={lines} onChange={change} />
          </li>
        ))}
      </ol>
      {error !== undefined && Object.keys(marks).length === 0 && <Input.Error>{error}</Input.Error>}
      <Button
        mt="xs"
        variant="default"
        size="xs"
        leftSection={<Icon name="plus" size={14} />}
        onClick={() => change([...lines, {}])}
      >
        {words.addTo({ label })}
      </Button>
    </fieldset>
  );
}

interface ListButtonsProps {
  readonly label: string;
  readonly place: number;
  readonly lines: readonly JsonObject[];
  readonly onChange: (lines: readonly JsonObject[]) => void;
}

function ListButtons({ label, place, lines, onChange }: ListButtonsProps): ReactNode {
  const without = lines.toSpliced(place, 1);
  const one = lines[place] ?? {};
  const buttons = [
    {
      icon: "up",
      label: words.up({ label, place: place + 1 }),
      isOff: place === 0,
      next: () => without.toSpliced(place - 1, 0, one),
    },
    {
      icon: "down",
      label: words.down({ label, place: place + 1 }),
      isOff: place === lines.length - 1,
      next: () => without.toSpliced(place + 1, 0, one),
    },
    {
      icon: "close",
      label: text.common.removeLine({ list: label, line: place + 1 }),
      isOff: false,
      next: () => without,
    },
  ] as const;
  return (
    <Group gap={2} justify="end">
      {buttons.map(({ icon, label: name, isOff, next }) => (
        <ActionIcon
          key={icon}
          variant="subtle"
          color="gray"
          aria-label={name}
          disabled={isOff}
          onClick={() => onChange(next())}
        >
          <Icon name={icon} size={14} />
        </ActionIcon>
      ))}
    </Group>
  );
}

/** What a value has besides the members that its schema names, each as JSON, and an input that adds one. */
export function OtherMembers({ rules, placed, value, onChange, marks }: ObjectProps): ReactNode {
  const [added, setAdded] = useState<readonly string[]>([]);
  const [name, setName] = useState("");
  const members = useMemo(() => membersOfSchema(placed, rules.words), [placed, rules.words]);
  const others = [...new Set([...othersOf(members, value, rules.keyOf), ...added])];
  if (placed.schema.additionalProperties === false && others.length === 0) return null;
  const isNew = name.trim() !== "" && !Object.hasOwn(value, name.trim());
  const add = () => {
    if (!isNew) return;
    setAdded([...added, name.trim()]);
    setName("");
  };
  return (
    <Folded label={words.others({ count: others.length })} isOpen={others.length > 0}>
      <div className={classes.fields} data-more>
        {others.map((one) => (
          <ParameterInput
            key={one}
            parameter={{
              name: one,
              label: one,
              kind: "json",
              choices: [],
              required: false,
              schema: {},
              words: rules.words,
            }}
            value={memberBy(value, one)}
            onChange={(next) => onChange(withMember(value, one, next))}
            error={markOf(marks, one)}
          />
        ))}
        <Group gap="xs" align="end" data-kind="json">
          <TextInput
            label={words.otherName}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter") return;
              event.preventDefault();
              add();
            }}
          />
          <Button variant="default" disabled={!isNew} onClick={add}>
            {words.addOther}
          </Button>
        </Group>
      </div>
    </Folded>
  );
}
