import { Button, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useBlocker, useNavigate, useParams } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { type ApiRow, call } from "@/api/client.ts";
import { CodeEditor } from "@/components/code-editor.tsx";
import { ShowSecret } from "@/components/show-secret.tsx";
import { Empty, Failure, Waiting } from "@/components/states.tsx";
import { EditorPage, Section } from "@/layout/page.tsx";
import { ChooseWorkspace } from "@/session/choose-workspace.tsx";
import { useSession } from "@/session/context.tsx";
import type { Workspace } from "@/session/session.ts";
import { useWorkspace } from "@/session/workspace.tsx";
import { text } from "@/text/frame.ts";
import { toBody, toValues } from "./body.ts";
import { readBodySchema, useBodySchema } from "./body-schema.ts";
import { isRequired } from "./check-body.ts";
import { fillPath, listTitleOf, splitRow, titleOf, useForget, useRecord } from "./data.ts";
import { FieldInput } from "./field-input.tsx";
import { checkFields, marksOfError, requireFields } from "./field-marks.ts";
import { FormOrJson, readBody, StaysHere, useFormOrJson } from "./form-or-json.tsx";
import { fromBody } from "./from-body.ts";
import type { Field, Resource, Values, Write } from "./types.ts";

/** The page that makes a record. */
export function ResourceCreate({ resource }: { readonly resource: Resource }): ReactNode {
  const { can } = useSession();
  const { choosable, current, all } = useWorkspace();
  const { create } = resource;
  const place = { title: resource.text.create, back: { to: `/${resource.name}`, label: listTitleOf(resource) } };
  if (create === undefined || !can(create.rows[0])) return <NotAllowed {...place} />;
  if (resource.workspace === "required" && choosable && current === undefined) {
    return (
      <EditorPage {...place}>
        <ChooseWorkspace />
      </EditorPage>
    );
  }
  return (
    <Editor resource={resource} write={withWorkspace(create, choosable && current === undefined, all)} {...place} />
  );
}

/** A write that asks for a workspace, where its record must belong to one and none is in view. */
function withWorkspace(write: Write, isOpen: boolean, all: readonly Workspace[]): Write {
  const { isOfWorkspace, fields } = write;
  if (!isOpen || isOfWorkspace === undefined) return write;
  const field: Field = {
    name: "workspace_id",
    label: text.common.workspace,
    kind: "select",
    required: true,
    placeholder: text.common.chooseWorkspace,
    options: all.map(({ id, name }) => ({ value: id, label: name })),
    ...(all.length === 1 && { initial: all[0]?.id }),
    when: isOfWorkspace,
  };
  // behind what decides about it
  return { ...write, fields: [...fields.slice(0, 1), field, ...fields.slice(1)] };
}

/** What stands in place of a form that would be refused. */
function NotAllowed(place: Pick<EditorProps, "title" | "back">): ReactNode {
  return (
    <EditorPage {...place}>
      <Empty title={text.common.writeNotAllowed} />
    </EditorPage>
  );
}

/** The page that changes a record. */
export function ResourceEdit({ resource }: { readonly resource: Resource }): ReactNode {
  const { id = "" } = useParams({ strict: false });
  const { can, principal } = useSession();
  const { data, error } = useRecord(resource, id);
  const { update } = resource;
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Waiting />;
  const name = titleOf(resource, data) || id;
  const place = { title: name, back: { to: `/${resource.name}/${encodeURIComponent(id)}`, label: name } };
  const isOpen = update !== undefined && can(update.rows[0]) && update.when?.(data, principal) !== false;
  if (!isOpen) return <NotAllowed {...place} />;
  return <Editor resource={resource} write={update} record={data} id={id} {...place} />;
}

function toFormData(body: Values): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) form.set(name, value instanceof File ? value : String(value));
  return form;
}

interface EditorProps {
  readonly resource: Resource;
  readonly write: Write;
  readonly title: string;
  readonly back: { readonly to: string; readonly label: string };
  readonly record?: object;
  readonly id?: string;
}

/** The fields of a form that are in view. */
const shownFields = ({ fields }: Write, values: Values): readonly Field[] =>
  fields.filter(({ when }) => when === undefined || when(values));

/** What a form sends: its values, the body they make, and whether the body was typed as JSON. */
interface Sent {
  readonly values: Values;
  readonly body: Values;
  readonly isTyped: boolean;
}

/** Sends the body of an editor and returns the answer. Values that the schema of the row refuses are marked instead. */
function useSave({ resource, write, record, id = "" }: EditorProps): (sent: Sent) => Promise<unknown> {
  const forget = useForget(resource);
  const { current, choosable } = useWorkspace();
  return async ({ values, body, isTyped }) => {
    const { method, path } = splitRow(write.rows[0]);
    const own = write.path?.(values, id);
    const row = write.rows.find((one) => one === `${method} ${own}`) ?? write.rows[0];
    const inWorkspace = resource.workspace !== "none" && choosable && current !== undefined;
    const placed = inWorkspace && record === undefined ? { workspace_id: current.id, ...body } : body;
    const sent = write.toBody?.(placed, record) ?? placed;
    const query = inWorkspace && record !== undefined ? { workspace_id: current.id } : {};
    // JSON is marked where it is typed
    if (!isTyped && write.multipart !== true) checkFields(shownFields(write, values), await readBodySchema(row), sent);
    const answer = await call(write.method ?? method, own ?? fillPath(path, id), {
      body: write.multipart === true ? toFormData(sent) : sent,
      query,
    });
    await forget();
    return answer;
  };
}

/** What became of a form. */
interface EditorState {
  readonly busy: boolean;
  readonly dirty: boolean;
  readonly error?: unknown;
  /** Shown once before the next page. */
  readonly secret?: string;
  readonly next?: string;
}

/** The page that follows once a record is saved: its own, or the list. */
function pageAfter({ resource, write, record, id = "" }: EditorProps, answer: unknown): string {
  const saved = write.made?.(answer) ?? id;
  const hasPage = saved !== "" && (record !== undefined || resource.read !== undefined);
  return hasPage ? `/${resource.name}/${encodeURIComponent(saved)}` : `/${resource.name}`;
}

/** The values of a form, as fields or as JSON, until they are saved. */
function useEditor(props: EditorProps) {
  const { resource, write, record } = props;
  const navigate = useNavigate();
  const save = useSave(props);
  const [values, setValues] = useState<Values>(() => toValues(write.fields, record));
  const [state, setState] = useState<EditorState>({ busy: false, dirty: false });
  const json = useFormOrJson({
    write: () => JSON.stringify(toBody(write.fields, values, record), undefined, 2),
    read: (body) => {
      const form = fromBody(write.fields, body, record);
      if (form.left.length === 0) setValues(form.values);
      return form.left;
    },
  });
  const { code } = json;
  useBlocker({
    shouldBlockFn: () => state.dirty && !confirm(text.common.unsaved),
    enableBeforeUnload: () => state.dirty,
  });
  const finish = async (answer: unknown) => {
    const next = pageAfter(props, answer);
    const secret = write.secret?.(answer) ?? undefined;
    setState({ busy: false, dirty: false, ...(secret !== undefined && { secret, next }) });
    notifications.show({
      message: record === undefined ? text.common.created({ what: resource.text.one }) : text.common.saved,
    });
    // The blocker must see the clean state first.
    if (secret === undefined) setTimeout(() => void navigate({ to: next }), 0);
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setState({ busy: true, dirty: state.dirty });
    try {
      if (code === undefined) requireFields(write.fields, values);
      const body = code === undefined ? toBody(write.fields, values, record) : readBody(code);
      // members that choose the path may have been typed
      const isTyped = code !== undefined;
      await finish(await save({ values: { ...values, ...(isTyped && body) }, body, isTyped }));
    } catch (error) {
      setState({ busy: false, dirty: true, error });
    }
  };
  const touch = () => setState((before) => ({ ...before, dirty: true }));
  const change = (name: string, value: unknown) => {
    setValues((before) => ({ ...before, [name]: value }));
    touch();
  };
  const type = (next: string) => {
    json.setCode(next);
    touch();
  };
  return { values, state, json, submit, change, type };
}

function Editor(props: EditorProps): ReactNode {
  const { resource, write, title, back, record } = props;
  const navigate = useNavigate();
  const { values, state, json, submit, change, type } = useEditor(props);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (state.error !== undefined) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [state.error]);
  const leave = (to: string) => void navigate({ to });
  return (
    <form ref={form} onSubmit={submit} noValidate>
      <EditorPage
        title={title}
        back={back}
        actions={
          // a file cannot be written as JSON
          write.multipart !== true && <FormOrJson isJson={json.code !== undefined} onChange={json.switchTo} />
        }
        footer={
          <>
            <Button type="submit" loading={state.busy}>
              {record === undefined ? resource.text.create : text.common.save}
            </Button>
            <Button variant="default" onClick={() => leave(back.to)}>
              {text.common.cancel}
            </Button>
          </>
        }
      >
        {state.error !== undefined && <Failure error={state.error} />}
        <StaysHere reason={json.reason} />
        {json.code === undefined ? (
          <Fields write={write} values={values} onChange={change} error={state.error} isNew={record === undefined} />
        ) : (
          <BodyEditor row={write.rows[0]} value={json.code} onChange={type} />
        )}
      </EditorPage>
      {state.secret !== undefined && <ShowSecret value={state.secret} onClose={() => leave(state.next ?? back.to)} />}
    </form>
  );
}

interface FieldsProps {
  readonly write: Write;
  readonly values: Values;
  readonly onChange: (name: string, value: unknown) => void;
  readonly error: unknown;
  readonly isNew: boolean;
}

/** The fields, those of a section in a block with its title. */
function Fields({ write, values, onChange, error, isNew }: FieldsProps): ReactNode {
  const schema = useBodySchema(write.rows[0]);
  const shown = shownFields(write, values).map((field) => ({
    ...field,
    // a record that exists keeps what is left out
    required: field.required === true || (isNew && schema !== undefined && isRequired(schema, field.name)),
  }));
  const marks = marksOfError(shown, error);
  const sections = [...new Set(shown.map(({ section }) => section))];
  return sections.map((title) => {
    const inputs = shown
      .filter(({ section }) => section === title)
      .map((field) => (
        <FieldInput
          key={field.name}
          field={field}
          value={values[field.name]}
          onChange={(value) => onChange(field.name, value)}
          error={marks[field.name]}
        />
      ));
    if (title === undefined) return inputs;
    const help = shown.find(({ section }) => section === title)?.sectionHelp;
    return (
      <Section key={title} title={title}>
        <Stack gap="md">
          {help !== undefined && (
            <Text size="sm" c="dimmed">
              {help}
            </Text>
          )}
          {inputs}
        </Stack>
      </Section>
    );
  });
}

/** The whole request body as JSON, with the schema of its row. */
function BodyEditor({
  row,
  value,
  onChange,
}: {
  readonly row: ApiRow;
  readonly value: string;
  readonly onChange: (value: string) => void;
}): ReactNode {
  const schema = useBodySchema(row);
  if (schema === undefined) return <Waiting />;
  return <CodeEditor label={text.common.json} value={value} onChange={onChange} schema={schema} minHeight="20rem" />;
}
