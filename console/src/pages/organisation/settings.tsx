import { Button, Group, Stack, Tabs, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import { ask, get } from "@/api/client.ts";
import { CodeEditor } from "@/components/code-editor.tsx";
import { Failure, Waiting } from "@/components/states.tsx";
import layout from "@/layout/layout.module.css";
import { EditorPage, Section } from "@/layout/page.tsx";
import { isJsonObject, type JsonObject } from "@/lib/json.ts";
import { toValues } from "@/resources/body.ts";
import { useBodySchema } from "@/resources/body-schema.ts";
import { FieldInput } from "@/resources/field-input.tsx";
import { checkFields, type FieldMarks, marksOfError, requireFields } from "@/resources/field-marks.ts";
import { FormOrJson, readBody, StaysHere, useFormOrJson } from "@/resources/form-or-json.tsx";
import { fromBody } from "@/resources/from-body.ts";
import type { Field } from "@/resources/types.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import classes from "./settings.module.css";
import { changedMembers, toEditable, toSent, withAbsent, withChanges } from "./settings-body.ts";
import { roomOf, toFields, toGroups } from "./settings-fields.ts";

const words = text.settings;

/** Settings of the organisation, each group as its route takes it. */
export default function Settings(): ReactNode {
  const { can } = useSession();
  const parts = [
    { id: "organisation", title: words.organisation, path: "/v1/organisations/{id}" },
    { id: "auth", title: words.signIn, path: "/v1/organisations/{id}/auth-settings" },
    { id: "defaults", title: words.defaults, path: "/v1/admin/organisation/defaults" },
  ] as const;
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
        {parts.map(({ id, title, path }) => (
          <Tabs.Panel key={id} value={id}>
            <SettingsPart title={title} path={path} editable={can(`PUT ${path}`)} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </EditorPage>
  );
}

interface SettingsPartProps {
  readonly title: string;
  readonly path: "/v1/organisations/{id}" | "/v1/organisations/{id}/auth-settings" | "/v1/admin/organisation/defaults";
  readonly editable: boolean;
}

function SettingsPart(props: SettingsPartProps): ReactNode {
  const { path } = props;
  const row = `PUT ${path}` as const;
  const { principal } = useSession();
  const read = useQuery({
    queryKey: ["settings", path],
    queryFn: async ({ signal }): Promise<JsonObject> => {
      const answer = await get(path, { path: { id: principal.organisation_id }, signal });
      return "data" in answer ? answer.data : answer;
    },
  });
  const schema = useBodySchema(row);
  if (read.error !== null) return <Failure error={read.error} onRetry={() => void read.refetch()} />;
  if (read.data === undefined || schema === undefined) return <Waiting />;
  return <SettingsEditor key={JSON.stringify(read.data)} {...props} stored={read.data} schema={schema} />;
}

interface SettingsEditorProps extends SettingsPartProps {
  readonly stored: JsonObject;
  readonly schema: JsonObject;
}

/** The settings as a form or as JSON, until they are saved. */
function SettingsEditor({ title, path, editable, stored, schema }: SettingsEditorProps): ReactNode {
  const { principal } = useSession();
  const queries = useQueryClient();
  const fields = useMemo(
    () => toFields(isJsonObject(schema.properties) ? schema.properties : {}, stored),
    [schema, stored],
  );
  const start = () => toValues(fields, stored);
  const [values, setValues] = useState(start);
  // inputs that hold what is typed until it can be read begin anew when the values do
  const [round, setRound] = useState(0);
  const changes = useMemo(() => toSent(fields, values, stored), [fields, values, stored]);
  const json = useFormOrJson({
    write: () => toCode(withChanges(stored, changes())),
    read(body) {
      const form = fromBody(fields, withAbsent(changedMembers(body, stored), stored), stored);
      if (form.left.length === 0) setValues(form.values);
      return form.left;
    },
  });
  const { code } = json;
  const { mutate, error, isPending } = useMutation({
    mutationFn: async () => {
      if (code === undefined) requireFields(fields, values);
      const body = code === undefined ? changes() : changedMembers(readBody(code), stored);
      if (code === undefined) checkFields(fields, schema, body);
      await ask(`PUT ${path}`, {
        path: { id: principal.organisation_id },
        body,
      });
    },
    async onSuccess() {
      notifications.show({ message: text.common.saved });
      await queries.invalidateQueries({ queryKey: ["settings", path] });
    },
  });
  const reset = () => {
    setValues(start());
    setRound(round + 1);
    json.start(code === undefined ? undefined : toCode(stored));
  };
  const isChanged = code === undefined ? isChange(changes) : code !== toCode(stored);
  return (
    <Stack>
      <Group justify="end">
        <FormOrJson isJson={code !== undefined} onChange={json.switchTo} />
      </Group>
      <StaysHere reason={json.reason} />
      {code === undefined ? (
        <SettingsForm
          key={round}
          fields={fields}
          values={values}
          onChange={setValues}
          // what is typed while the stored values are on their way would be lost
          editable={editable && !isPending}
          marks={marksOfError(fields, error)}
        />
      ) : (
        <Section title={title}>
          <Text size="sm" c="dimmed" mb="sm">
            {words.danger}
          </Text>
          <CodeEditor
            label={title}
            value={code}
            schema={schema}
            onChange={editable ? json.setCode : undefined}
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
  readonly values: JsonObject;
  readonly onChange: (change: (before: JsonObject) => JsonObject) => void;
  readonly editable: boolean;
  readonly marks: FieldMarks;
}

/** The fields in groups. */
function SettingsForm({ fields, values, onChange, editable, marks }: SettingsFormProps): ReactNode {
  return toGroups(fields).map((group) => (
    <Section key={group.title} title={group.title}>
      <fieldset disabled={!editable} className={classes.fields} aria-label={group.title}>
        {group.fields
          .filter(({ when }) => when === undefined || when(values))
          .map((field) => (
            <div key={field.name} data-room={roomOf(field)}>
              <FieldInput
                field={field}
                value={values[field.name]}
                onChange={(value) => onChange((before) => ({ ...before, [field.name]: value }))}
                error={marks[field.name]}
              />
            </div>
          ))}
      </fieldset>
    </Section>
  ));
}

/** Whether the form would send something; a field that does not parse is a change. */
function isChange(changes: () => JsonObject): boolean {
  try {
    return Object.keys(changes()).length > 0;
  } catch {
    return true;
  }
}

function toCode(stored: JsonObject): string {
  return JSON.stringify(toEditable(stored), undefined, 2);
}
