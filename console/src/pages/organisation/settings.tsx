import { Button, Group, Stack, Tabs, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import { ApiError, call } from "@/api/client.ts";
import { CodeEditor } from "@/components/code-editor.tsx";
import { Failure, Waiting } from "@/components/states.tsx";
import layout from "@/layout/layout.module.css";
import { EditorPage, Section } from "@/layout/page.tsx";
import { isRow, type Row, readRecord } from "@/lib/read.ts";
import { toBody, toValues } from "@/resources/body.ts";
import { FieldInput } from "@/resources/field-input.tsx";
import { FormOrJson } from "@/resources/form-or-json.tsx";
import type { Field } from "@/resources/types.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import classes from "./settings.module.css";
import { toFields, toGroups } from "./settings-fields.ts";

const words = text.settings;

/** Members that the organisation's route answers with and does not take. */
const fixed = new Set(["id", "slug", "object", "created_at", "last_updated_at", "status", "organisation_id"]);

/** Settings of the organisation, each group as its route takes it. */
export default function Settings(): ReactNode {
  const { principal, can } = useSession();
  const base = `/v1/organisations/${encodeURIComponent(principal.organisation_id)}`;
  const parts = [
    { id: "organisation", title: words.organisation, path: base, row: "PUT /v1/organisations/{id}" },
    { id: "auth", title: words.signIn, path: `${base}/auth-settings`, row: "PUT /v1/organisations/{id}/auth-settings" },
    {
      id: "defaults",
      title: words.defaults,
      path: "/v1/admin/organisation/defaults",
      row: "PUT /v1/admin/organisation/defaults",
    },
  ];
  return (
    <EditorPage title={words.title} about={words.about}>
      <Tabs defaultValue="organisation" keepMounted={false}>
        <Tabs.List mb="md">
          {parts.map(({ id, title }) => (
            <Tabs.Tab key={id} value={id}>
              {title}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {parts.map(({ id, title, path, row }) => (
          <Tabs.Panel key={id} value={id}>
            <SettingsPart title={title} path={path} row={row} editable={can(row)} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </EditorPage>
  );
}

interface SettingsPartProps {
  readonly title: string;
  readonly path: string;
  readonly row: string;
  readonly editable: boolean;
}

function SettingsPart(props: SettingsPartProps): ReactNode {
  const { path, row } = props;
  const read = useQuery({
    queryKey: ["settings", path],
    queryFn: async ({ signal }) => readRecord(await call("GET", path, { signal })),
  });
  const schema = useQuery({
    queryKey: ["schema", row],
    queryFn: async () => (await import("@/api/bodies.gen.ts")).bodies[row] ?? {},
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (read.error !== null) return <Failure error={read.error} onRetry={() => void read.refetch()} />;
  if (read.data === undefined || schema.data === undefined) return <Waiting />;
  return <SettingsEditor key={JSON.stringify(read.data)} {...props} stored={read.data} schema={schema.data} />;
}

interface SettingsEditorProps extends SettingsPartProps {
  readonly stored: Row;
  readonly schema: Row;
}

/** The settings as a form or as JSON, until they are saved. */
function SettingsEditor({ title, path, editable, stored, schema }: SettingsEditorProps): ReactNode {
  const queries = useQueryClient();
  const fields = useMemo(() => toFields(isRow(schema.properties) ? schema.properties : {}, stored), [schema, stored]);
  const start = () => toValues(fields, stored);
  const [values, setValues] = useState(start);
  const [code, setCode] = useState<string>();
  const { mutate, error, isPending } = useMutation({
    mutationFn: async () => {
      const body = code === undefined ? toBody(fields, values, stored) : changedMembers(JSON.parse(code), stored);
      await call("PUT", path, { body });
    },
    async onSuccess() {
      notifications.show({ message: text.common.saved });
      await queries.invalidateQueries({ queryKey: ["settings", path] });
    },
  });
  const reset = () => {
    setValues(start());
    setCode((before) => (before === undefined ? undefined : toCode(stored)));
  };
  const isChanged =
    code === undefined ? Object.keys(toChanges(fields, values, stored)).length > 0 : code !== toCode(stored);
  return (
    <Stack>
      <Group justify="end">
        <FormOrJson
          isJson={code !== undefined}
          onChange={(isJson) =>
            setCode(isJson ? toCode(withChanges(stored, toChanges(fields, values, stored))) : undefined)
          }
        />
      </Group>
      {code === undefined ? (
        <SettingsForm fields={fields} values={values} onChange={setValues} editable={editable} error={error} />
      ) : (
        <Section title={title}>
          <Text size="sm" c="dimmed" mb="sm">
            {words.danger}
          </Text>
          <CodeEditor
            label={title}
            value={code}
            schema={schema}
            onChange={editable ? setCode : undefined}
            minHeight="20rem"
          />
        </Section>
      )}
      {error !== null && <Failure error={error} />}
      {editable && (
        <Group gap="xs" className={layout.footer}>
          <Button onClick={() => mutate()} loading={isPending} disabled={!isChanged}>
            {text.common.save}
          </Button>
          <Button variant="default" onClick={reset} disabled={!isChanged}>
            {text.common.cancel}
          </Button>
        </Group>
      )}
    </Stack>
  );
}

interface SettingsFormProps {
  readonly fields: readonly Field[];
  readonly values: Row;
  readonly onChange: (change: (before: Row) => Row) => void;
  readonly editable: boolean;
  readonly error: unknown;
}

/** The fields in groups. */
function SettingsForm({ fields, values, onChange, editable, error }: SettingsFormProps): ReactNode {
  return toGroups(fields).map((group) => (
    <Section key={group.title} title={group.title}>
      <fieldset disabled={!editable} className={classes.fields} aria-label={group.title}>
        {group.fields.map((field) => (
          <div key={field.name} data-kind={field.kind}>
            <FieldInput
              field={field}
              value={values[field.name]}
              onChange={(value) => onChange((before) => ({ ...before, [field.name]: value }))}
              error={errorAt(error, field.name)}
            />
          </div>
        ))}
      </fieldset>
    </Section>
  ));
}

/** What the gateway says about a field. */
function errorAt(error: unknown, name: string): string | undefined {
  return error instanceof ApiError && error.param === name ? error.message : undefined;
}

/** The stored settings with changes, also of members of members. */
function withChanges(stored: Row, changes: Row): Row {
  const changed = Object.entries(changes).map(([name, value]) => {
    const before = stored[name];
    return [name, isRow(value) && isRow(before) ? { ...before, ...value } : value] as const;
  });
  return { ...stored, ...Object.fromEntries(changed) };
}

/** What the form would send; with a field that does not parse, something. */
function toChanges(fields: readonly Field[], values: Row, stored: Row): Row {
  try {
    return toBody(fields, values, stored);
  } catch {
    return values;
  }
}

function toCode(stored: Row): string {
  return JSON.stringify(toEditable(stored), undefined, 2);
}

function toEditable(record: Row): Row {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !fixed.has(name)));
}

/** Members whose value differs from the stored one: the others stay as they are. */
function changedMembers(next: Row, stored: Row): Row {
  return Object.fromEntries(
    Object.entries(next).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(stored[name])),
  );
}
