import {
  Button,
  FileInput,
  Group,
  Input,
  type InputWrapperProps,
  MultiSelect,
  NumberInput,
  PasswordInput,
  Select,
  Stack,
  Switch,
  TagsInput,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { type ChangeEvent, lazy, type ReactNode, Suspense, useMemo } from "react";
import { CodeEditor } from "@/components/code-editor.tsx";
import { Icon } from "@/components/icons.tsx";
import { Waiting } from "@/components/states.tsx";
import { isJsonObject, textOf } from "@/lib/json.ts";
import { useSession } from "@/session/context.tsx";
import { useWorkspace } from "@/session/workspace.tsx";
import { text } from "@/text/text.ts";
import { readList } from "./data.ts";
import { DurationInput } from "./duration-input.tsx";
import { pairColumns } from "./options.ts";
import { RowsInput } from "./rows-input.tsx";
import type { Field, FieldProps, Option, OptionSource, Values } from "./types.ts";

function isSource(options: Field["options"]): options is OptionSource {
  return options !== undefined && "path" in options;
}

/** The choices of a field: given ones that lead to what the viewer may do, or rows of the API. Undefined: it may not list them. */
function useOptions(options: Field["options"]): readonly Option[] | undefined {
  const { can } = useSession();
  const { id } = useParams({ strict: false });
  const allowed = (given: readonly Option[] = []) => given.filter(({ row }) => row === undefined || can(row));
  const source = isSource(options) ? options : undefined;
  const { current, choosable } = useWorkspace();
  const workspace = choosable && current !== undefined ? { workspace_id: current.id } : {};
  const owner = source?.idAs === undefined ? workspace : { [source.idAs]: id };
  const isListed = source !== undefined && can(`GET ${source.path}`);
  const { data } = useQuery({
    queryKey: ["options", source?.path, source?.query, owner],
    enabled: isListed,
    queryFn: ({ signal }) =>
      source === undefined
        ? null
        : readList(source.path, { query: { page_size: 100, ...source.query, ...owner }, signal }),
    staleTime: 30_000,
  });
  if (source === undefined) return isSource(options) ? [] : allowed(options);
  if (!isListed) return undefined;
  const found = (data?.data ?? []).flatMap((row) => source.toOption(row) ?? []);
  return [...new Map(found.map(({ value, label }) => [value, { value, label: label || value }])).values()];
}

const asList = (value: unknown): string[] =>
  Array.isArray(value) ? value.map(String) : typeof value === "string" && value !== "" ? [value] : [];

const asRows = (value: unknown): readonly Values[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);

/** Choices under the names of their groups, those without one first. */
function grouped(options: readonly Option[]) {
  const groups = Map.groupBy(options, ({ group }) => group);
  // Mantine takes what has a member `group` for a group
  const bare = (items: readonly Option[]) => items.map(({ value, label }) => ({ value, label }));
  return [...groups].flatMap<Option | { group: string; items: Option[] }>(([group, items]) =>
    group === undefined ? bare(items) : [{ group, items: bare(items) }],
  );
}

/** The input of one field, by its kind. */
export function FieldInput(props: FieldProps): ReactNode {
  const { field, value, onChange, error } = props;
  switch (field.kind) {
    case "select":
    case "multi":
      return <ChoiceInput {...props} />;
    case "json":
    case "template":
      return <CodeInput {...props} />;
    case "number":
      return (
        <NumberInput
          {...shared(props)}
          value={typeof value === "number" || typeof value === "string" ? value : ""}
          aria-description={field.unit}
          {...(field.unit !== undefined && unitSection(field.unit))}
          onChange={onChange}
        />
      );
    case "duration":
      return <DurationInput {...props} />;
    case "switch":
      return (
        <Switch
          label={field.label}
          description={field.help}
          error={error}
          checked={value === true || value === 1}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      );
    case "file":
      return (
        <FileInput
          {...shared(props)}
          leftSection={<Icon name="files" size={14} />}
          value={value instanceof File ? value : null}
          onChange={onChange}
          clearable
        />
      );
    case "own":
      return field.input !== undefined && <OwnInput {...props} load={field.input} />;
    case "rows":
      return <RowsInput field={field} value={asRows(value)} onChange={onChange} error={error} input={FieldInput} />;
    case "pairs":
      return (
        <RowsInput
          field={{ ...field, columns: pairColumns(field.secret === true) }}
          value={asRows(value)}
          onChange={onChange}
          error={error}
          input={FieldInput}
        />
      );
    case "tags":
      return <ListInput {...props} />;
    default:
      return <WordsInput {...props} />;
  }
}

/** An input that a field brings; its code is loaded now. */
function OwnInput({ load, ...props }: FieldProps & { readonly load: NonNullable<Field["input"]> }): ReactNode {
  const Input = useMemo(() => lazy(load), [load]);
  return (
    <Suspense fallback={<Waiting />}>
      <Input {...props} />
    </Suspense>
  );
}

/** What a number counts, in view at its end also while there is none. */
const unitSection = (unit: string) => ({
  rightSection: <span style={{ color: "var(--ink-faint)", fontSize: "var(--size-xs)" }}>{unit}</span>,
  rightSectionWidth: `${unit.length + 2}ch`,
});

/** Inputs beside each other stand at one height, whichever of them have a description. */
const inputWrapperOrder: InputWrapperProps["inputWrapperOrder"] = ["label", "input", "description", "error"];

/** What every input of Mantine takes. */
function shared({ field, error }: FieldProps) {
  const { label, help: description, required, placeholder, isFixed } = field;
  const withAsterisk = required === true;
  return { label, description, withAsterisk, error, placeholder, disabled: isFixed === true, inputWrapperOrder };
}

function WordsInput(props: FieldProps): ReactNode {
  const { field, value, onChange } = props;
  const input = {
    ...shared(props),
    onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => onChange(event.currentTarget.value),
  };
  if (field.kind === "long") return <Textarea {...input} autosize minRows={2} maxRows={8} value={textOf(value)} />;
  if (field.kind === "secret") return <PasswordInput {...input} autoComplete="off" value={textOf(value)} />;
  if (field.kind === "time") return <TextInput {...input} type="datetime-local" value={textOf(value)} />;
  return <TextInput {...input} value={textOf(value)} />;
}

/** Values that are typed one after the other. */
function ListInput(props: FieldProps): ReactNode {
  const { field, value, onChange } = props;
  const { enterEach } = text.resources.fields;
  const description = field.help === undefined ? enterEach : `${field.help}. ${enterEach}`;
  return <TagsInput {...shared(props)} description={description} clearable value={asList(value)} onChange={onChange} />;
}

function ChoiceInput(props: FieldProps): ReactNode {
  const { field, value, onChange } = props;
  const options = useOptions(field.options);
  // who may not list what there is can name it
  if (options === undefined && field.kind === "multi") {
    return <ListInput {...props} />;
  }
  if (options === undefined) return <WordsInput {...props} />;
  // what is set stays in view, even if the viewer may not list it
  const others = asList(value).filter((one) => options.every((option) => option.value !== one));
  const data = [...options, ...others.map((one) => ({ value: one, label: one }))];
  if (field.kind === "multi") {
    const input = { ...shared(props), data, value: asList(value), onChange };
    // what empty means is said only while it is
    const placeholder = input.value.length === 0 ? field.placeholder : undefined;
    const select = <MultiSelect {...input} placeholder={placeholder} searchable hidePickedOptions clearable />;
    if (field.presets === undefined) return select;
    return (
      <Stack gap="xs">
        {select}
        <Group gap="xs" role="group" aria-label={text.common.presetsOf({ label: field.label })}>
          {field.presets.map(({ label, values }) => (
            <Button key={label} variant="default" size="compact-sm" onClick={() => onChange(values)}>
              {label}
            </Button>
          ))}
        </Group>
      </Stack>
    );
  }
  return (
    <Select
      {...shared(props)}
      data={grouped(data)}
      searchable={data.length > 8}
      clearable={field.required !== true}
      allowDeselect={field.required !== true}
      value={value === undefined ? null : textOf(value)}
      onChange={(next) => onChange(next ?? undefined)}
    />
  );
}

function CodeInput({ field, value, onChange, error }: FieldProps): ReactNode {
  return (
    <Input.Wrapper
      label={field.label}
      description={field.help}
      withAsterisk={field.required === true}
      error={error}
      labelElement="div"
      inputContainer={(editor) => (
        <div style={{ marginBlockStart: field.help === undefined ? 0 : "var(--space-1)" }}>{editor}</div>
      )}
    >
      <CodeEditor
        label={field.label}
        language={field.kind === "json" ? "json" : "text"}
        value={textOf(value)}
        onChange={onChange}
        schema={field.schema}
        minHeight="7rem"
        maxHeight="24rem"
      />
    </Input.Wrapper>
  );
}
