import { Input } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ComponentType, type ReactNode, useMemo } from "react";
import type { SettingsForm } from "@/api/settings.gen.ts";
import { Folded } from "@/components/folded.tsx";
import { Waiting } from "@/components/states.tsx";
import { isJsonObject } from "@/lib/json.ts";
import { text } from "@/text/text.ts";
import classes from "../checks/checks.module.css";
import { withMember } from "../checks/draft.ts";
import { ParameterInput } from "../checks/parameter-input.tsx";
import type { Parameter } from "../checks/parameters.ts";
import { FieldInput } from "../field-input.tsx";
import { RowsInput } from "../rows-input.tsx";
import type { Field, FieldProps } from "../types.ts";
import { SettingsDraft } from "./settings-draft.ts";
import { arrange, type Setting, type SettingsGroup } from "./settings-form.ts";

const words = text.resources.settings;

/** The name that stands for MCP integrations among the providers. */
const mcp = "mcp";

/** The input of the settings of a provider's integrations. */
export function settingsInputOf(provider: string): ComponentType<FieldProps> {
  return (props) => <SettingsInput {...props} provider={provider} />;
}

function SettingsInput({ provider, ...props }: FieldProps & { readonly provider: string }): ReactNode {
  const { data } = useQuery({
    queryKey: ["settings", provider],
    queryFn: async () => {
      const { integrationForms, mcpForm, commonMembers } = await import("@/api/settings.gen.ts");
      if (provider === mcp) return mcpForm;
      const own = integrationForms[provider] ?? { members: {}, required: [] };
      return { ...own, members: { ...own.members, ...commonMembers } };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  return data === undefined ? <Waiting /> : <Settings {...props} provider={provider} form={data} />;
}

interface SettingsProps extends FieldProps {
  readonly provider: string;
  readonly form: SettingsForm;
}

function Settings({ provider, form, field, value, onChange, error }: SettingsProps): ReactNode {
  const draft = SettingsDraft.from(provider, value);
  const { main, groups } = arrange(form, draft);
  return (
    <fieldset className={classes.checks} aria-label={field.label}>
      <Input.Label labelElement="div" size="xs">
        {field.label}
      </Input.Label>
      <div className={classes.card}>
        {main.length > 0 && <Inputs settings={main} draft={draft} onChange={onChange} />}
        <HeaderLines draft={draft} onChange={onChange} />
        {groups.map((group) => (
          <Group key={group.label} group={group} draft={draft} onChange={onChange} />
        ))}
      </div>
      {error !== undefined && <Input.Error>{error}</Input.Error>}
    </fieldset>
  );
}

interface PartProps {
  readonly draft: SettingsDraft;
  readonly onChange: (draft: SettingsDraft) => void;
}

/** A part that is folded unless something in it is set. */
function Group({ group, draft, onChange }: PartProps & { readonly group: SettingsGroup }): ReactNode {
  const { label, settings } = group;
  const isUsed = settings.some(({ path }) => draft.read(path) !== undefined || draft.maskOf(path) !== undefined);
  return (
    <Folded label={label} isOpen={isUsed}>
      <fieldset className={classes.checks} aria-label={label}>
        <Inputs settings={settings} draft={draft} onChange={onChange} isMore />
      </fieldset>
    </Folded>
  );
}

interface InputsProps extends PartProps {
  readonly settings: readonly Setting[];
  readonly isMore?: boolean;
}

function Inputs({ settings, draft, onChange, isMore }: InputsProps): ReactNode {
  return (
    <div className={classes.fields} data-more={isMore}>
      {settings.map((setting) => (
        <SettingInput
          key={setting.path}
          setting={setting}
          draft={draft}
          onChange={(value) => onChange(draft.with(setting.path, value))}
        />
      ))}
    </div>
  );
}

interface SettingInputProps {
  readonly setting: Setting;
  readonly draft: SettingsDraft;
  readonly onChange: (value: unknown) => void;
}

function SettingInput({ setting, draft, onChange }: SettingInputProps): ReactNode {
  const { path, isSecret, parameter, columns, parts } = setting;
  const { name, label, help, required } = parameter;
  const value = draft.read(path);
  const mask = draft.maskOf(path);
  const shared = { name, label, required: required && mask === undefined, ...(help !== undefined && { help }) };
  if (isSecret) {
    const field: Field = { ...shared, kind: "secret", placeholder: mask === undefined ? "" : words.stored({ mask }) };
    return (
      <div data-kind="secret">
        <FieldInput field={field} value={value} onChange={(typed) => onChange(typed === "" ? undefined : typed)} />
      </div>
    );
  }
  if (columns !== undefined) {
    return (
      <div data-kind="json">
        <RowsInput
          input={FieldInput}
          field={{ ...shared, kind: "rows", columns }}
          value={Array.isArray(value) ? value.filter(isJsonObject) : []}
          onChange={(lines) => onChange(lines.length === 0 ? undefined : lines.map(withoutEmpty))}
        />
      </div>
    );
  }
  if (parts !== undefined) return <Record label={label} parts={parts} value={value} onChange={onChange} />;
  return <ParameterInput parameter={{ ...parameter, required: shared.required }} value={value} onChange={onChange} />;
}

interface RecordProps {
  readonly label: string;
  readonly parts: readonly Parameter[];
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

/** A small record as the inputs of its members; without any of them it is left out. */
function Record({ label, parts, value, onChange }: RecordProps): ReactNode {
  const record = isJsonObject(value) ? value : {};
  const change = (name: string, member: unknown) => {
    const next = withMember(record, name, member);
    onChange(Object.keys(next).length === 0 ? undefined : next);
  };
  return (
    <fieldset className={classes.checks} data-kind="json" aria-label={label}>
      <Input.Label labelElement="div" size="xs">
        {label}
      </Input.Label>
      <div className={classes.fields}>
        {parts.map((part) => (
          <ParameterInput
            key={part.name}
            parameter={part}
            value={record[part.name]}
            onChange={(member) => change(part.name, member)}
          />
        ))}
      </div>
    </fieldset>
  );
}

function withoutEmpty(line: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(line).filter(([, value]) => value !== undefined && value !== ""));
}

/** Headers that are sent with each request, masked ones with their masks. */
function HeaderLines({ draft, onChange }: PartProps): ReactNode {
  const field = useMemo<Field>(
    () => ({
      name: "custom_headers",
      label: words.headers,
      help: words.headersHelp,
      kind: "rows",
      add: words.addHeader,
      columns: [
        { name: "name", label: text.resources.fields.name, kind: "text" },
        {
          name: "value",
          label: text.resources.fields.value,
          kind: "secret",
          ofLine: ({ mask, isPlain }) => ({
            ...(typeof mask === "string" && { placeholder: words.stored({ mask }) }),
            ...(isPlain === true && { kind: "text" }),
          }),
        },
      ],
    }),
    [],
  );
  return (
    <RowsInput
      input={FieldInput}
      field={field}
      value={draft.lines().map((line) => ({ ...line }))}
      onChange={(lines) => onChange(draft.withHeaders(lines))}
    />
  );
}
