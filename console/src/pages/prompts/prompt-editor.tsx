import { Button, Group, SegmentedControl, Select, Stack, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useBlocker, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { MessageList } from "@/chat/message-list.tsx";
import { CodeEditor } from "@/components/code-editor.tsx";
import { Failure } from "@/components/states.tsx";
import { Section } from "@/layout/page.tsx";
import { useProviders } from "@/pages/playground/choices.ts";
import { ModelField } from "@/pages/playground/model-field.tsx";
import { ParameterFields } from "@/pages/playground/parameter-fields.tsx";
import { ToolsField } from "@/pages/playground/tools-field.tsx";
import { useWorkspaceQuery } from "@/resources/data.ts";
import { useCollections } from "@/resources/prompt-options.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { usePromptChange, usePromptCreation } from "./data.ts";
import { type Draft, inForm, type TemplateForm, versionOf } from "./draft.ts";

const words = text.prompts;

interface PromptEditorProps {
  /** Left out: a new prompt is made. */
  readonly id?: string | undefined;
  readonly initial: Draft;
  /** Called when a version was saved. */
  readonly onSaved?: () => void;
}

/** What a save sends: the version only where it changed, so that a new name makes no version. */
function toBody(draft: Draft, initial: Draft, isNew: boolean): Readonly<Record<string, unknown>> {
  const version = versionOf(draft);
  const place = { name: draft.name, collection_id: draft.collection };
  const changed = isNew || JSON.stringify(version) !== JSON.stringify(versionOf(initial));
  if (!changed) return place;
  const described = draft.description === "" ? {} : { version_description: draft.description };
  return { ...place, ...version, ...described, ...(!isNew && { patch: true }) };
}

function useSave({ id, initial, onSaved }: PromptEditorProps) {
  const navigate = useNavigate();
  const workspace = useWorkspaceQuery({ workspace: "required" });
  const make = usePromptCreation();
  const change = usePromptChange();
  const [error, setError] = useState<unknown>();
  const save = async (draft: Draft) => {
    setError(undefined);
    try {
      const body = toBody(draft, initial, id === undefined);
      if (id !== undefined) {
        await change.mutateAsync({ row: "PUT /v1/prompts/{id}", path: { id }, body });
        notifications.show({ message: text.common.saved });
        return onSaved?.();
      }
      const { slug } = await make.mutateAsync({ ...workspace, ...body });
      notifications.show({ message: text.common.created({ what: words.one }) });
      setTimeout(() => void navigate({ to: `/prompts/${encodeURIComponent(slug)}` }), 0);
    } catch (failure) {
      setError(failure);
    }
  };
  const reset = () => {
    make.reset();
    change.reset();
  };
  const done = make.isSuccess || change.isSuccess;
  return { save, error, busy: make.isPending || change.isPending, done, reset };
}

/** Messages with variables, the model and its parameters. */
export function PromptEditor(props: PromptEditorProps): ReactNode {
  const { id, initial } = props;
  const { can } = useSession();
  const collections = useCollections();
  const [edited, setDraft] = useState(initial);
  const [asked, setAsked] = useState(false);
  const draft = { ...edited, collection: edited.collection || (collections[0]?.value ?? "") };
  const { save, error, busy, done, reset } = useSave(props);
  const dirty = JSON.stringify(edited) !== JSON.stringify(initial);
  const editable = can(id === undefined ? "POST /v1/prompts" : "PUT /v1/prompts/{id}");
  const change = (changes: Partial<Draft>) => {
    setDraft((before) => ({ ...before, ...changes }));
    reset();
  };
  const submit = () => {
    setAsked(true);
    if (draft.name.trim() !== "") void save(draft);
  };
  useBlocker({
    shouldBlockFn: () => dirty && !busy && !done && !confirm(text.common.unsaved),
    enableBeforeUnload: () => dirty,
  });
  return (
    <Section title={id === undefined ? words.one : words.editor} actions={<Form draft={draft} onChange={setDraft} />}>
      <Stack gap="sm">
        <Head draft={draft} onChange={change} asked={asked} />
        <Template draft={draft} onChange={change} />
        <ModelFields draft={draft} onChange={change} />
        <ParameterFields
          parameters={draft.parameters}
          onChange={(parameters) => change({ parameters: { ...draft.parameters, ...parameters } })}
        />
        <ToolsField value={draft.tools} onChange={(tools) => change({ tools })} />
        {error !== undefined && <Failure error={error} />}
        {editable && (
          <Footer draft={draft} onChange={change} isNew={id === undefined} busy={busy} dirty={dirty} onSave={submit} />
        )}
      </Stack>
    </Section>
  );
}

interface PartProps {
  readonly draft: Draft;
  readonly onChange: (changes: Partial<Draft>) => void;
}

const forms: readonly TemplateForm[] = ["messages", "json", "text"];

/** Messages, their JSON, or the text of a completion. */
function Form({ draft, onChange }: { readonly draft: Draft; readonly onChange: (draft: Draft) => void }): ReactNode {
  const choose = (form: string) => {
    try {
      onChange(inForm(draft, forms.find((one) => one === form) ?? "messages"));
    } catch (error) {
      notifications.show({ color: "red", message: error instanceof Error ? error.message : String(error) });
    }
  };
  return (
    <SegmentedControl
      aria-label={words.form}
      data={forms.map((value) => ({ value, label: words.forms[value] }))}
      value={draft.form}
      onChange={choose}
    />
  );
}

/** @param props.asked Whether a save was asked for: what it needs is then said. */
function Head({ draft, onChange, asked }: PartProps & { readonly asked: boolean }): ReactNode {
  const collections = useCollections();
  return (
    <Group align="start" gap="sm">
      <TextInput
        label={text.common.name}
        required
        error={asked && draft.name.trim() === "" ? words.nameFirst : undefined}
        value={draft.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
        style={{ flex: "2 1 12rem" }}
      />
      <Select
        label={words.collection}
        data={[...collections]}
        value={draft.collection === "" ? null : draft.collection}
        onChange={(collection) => onChange({ collection: collection ?? draft.collection })}
        allowDeselect={false}
        style={{ flex: "1 1 9rem" }}
      />
    </Group>
  );
}

interface FooterProps extends PartProps {
  readonly isNew: boolean;
  readonly busy: boolean;
  readonly dirty: boolean;
  readonly onSave: () => void;
}

function Footer({ draft, onChange, isNew, busy, dirty, onSave }: FooterProps): ReactNode {
  const navigate = useNavigate();
  if (isNew) {
    return (
      <Group gap="xs">
        <Button onClick={onSave} loading={busy}>
          {words.create}
        </Button>
        <Button variant="default" onClick={() => void navigate({ to: "/prompts" })}>
          {text.common.cancel}
        </Button>
      </Group>
    );
  }
  return (
    <Group align="end">
      <TextInput
        label={words.description}
        placeholder={words.descriptionHint}
        value={draft.description}
        onChange={(event) => onChange({ description: event.currentTarget.value })}
        style={{ flex: "1 1 12rem" }}
      />
      <Button onClick={onSave} loading={busy} disabled={!dirty}>
        {words.saveVersion}
      </Button>
    </Group>
  );
}

function Template({ draft, onChange }: PartProps): ReactNode {
  if (draft.form !== "messages") {
    return (
      <CodeEditor
        key={draft.form}
        label={words.forms[draft.form]}
        language={draft.form === "json" ? "json" : "text"}
        value={draft.template}
        onChange={(template) => onChange({ template })}
        minHeight="12rem"
      />
    );
  }
  return (
    <MessageList
      messages={draft.messages}
      onChange={(messages) => onChange({ messages })}
      input={(message, label, set) => (
        <CodeEditor
          label={label}
          language="text"
          value={message.text}
          onChange={set}
          placeholder={text.chat.placeholders[message.role]}
          minHeight="3.5rem"
          maxHeight="24rem"
          lines={false}
        />
      )}
    />
  );
}

function ModelFields({ draft, onChange }: PartProps): ReactNode {
  const providers = useProviders();
  const provider = draft.provider === "" ? "" : `@${draft.provider}`;
  const isKnown = provider === "" || providers.some(({ value }) => value === provider);
  const shown = isKnown ? providers : [...providers, { value: provider }];
  return (
    <Group gap="sm" align="end">
      <Select
        label={words.provider}
        placeholder={words.providerHint}
        data={shown.map(({ value, name = "" }) => ({ value, label: name === "" ? value : `${name} · ${value}` }))}
        value={provider === "" ? null : provider}
        onChange={(name) => onChange({ provider: (name ?? "").replace(/^@/, "") })}
        clearable
        searchable
        style={{ flex: "1 1 12rem" }}
        styles={{ input: { textOverflow: "ellipsis" } }}
      />
      <ModelField
        provider={provider}
        placeholder={words.modelHint}
        value={draft.model}
        onChange={(model) => onChange({ model })}
        style={{ flex: "1 1 12rem" }}
      />
    </Group>
  );
}
