import { Autocomplete, Button, Group, Input, SegmentedControl, Select, Stack, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useBlocker, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { MessageList } from "@/chat/message-list.tsx";
import { CodeEditor } from "@/components/code-editor.tsx";
import { Failure } from "@/components/states.tsx";
import { Section } from "@/layout/page.tsx";
import { readRecord, readText } from "@/lib/read.ts";
import { useModels, useProviders } from "@/pages/playground/choices.ts";
import { ParameterFields } from "@/pages/playground/parameter-fields.tsx";
import { useWorkspaceQuery } from "@/resources/data.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { useCollections, usePromptChange } from "./data.ts";
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
  const change = usePromptChange();
  const [error, setError] = useState<unknown>();
  const save = async (draft: Draft) => {
    setError(undefined);
    try {
      const body = toBody(draft, initial, id === undefined);
      const path = id === undefined ? "/v1/prompts" : `/v1/prompts/${encodeURIComponent(id)}`;
      const method = id === undefined ? "POST" : "PUT";
      const sent = id === undefined ? { ...workspace, ...body } : body;
      const answer = await change.mutateAsync({ method, path, body: sent });
      notifications.show({ message: id === undefined ? text.common.created(words.one) : text.common.saved });
      if (id !== undefined) return onSaved?.();
      const slug = readText(answer, "slug") || readText(readRecord(answer), "slug");
      setTimeout(() => void navigate({ to: `/prompts/${encodeURIComponent(slug)}` }), 0);
    } catch (failure) {
      setError(failure);
    }
  };
  return { save, error, busy: change.isPending, done: change.isSuccess, reset: change.reset };
}

/** Messages with variables, the model and its parameters. */
export function PromptEditor(props: PromptEditorProps): ReactNode {
  const { id, initial } = props;
  const { can } = useSession();
  const collections = useCollections();
  const [edited, setDraft] = useState(initial);
  const draft = { ...edited, collection: edited.collection || (collections[0]?.value ?? "") };
  const { save, error, busy, done, reset } = useSave(props);
  const dirty = JSON.stringify(edited) !== JSON.stringify(initial);
  const editable = can(id === undefined ? "POST /v1/prompts" : "PUT /v1/prompts/{id}");
  const change = (changes: Partial<Draft>) => {
    setDraft((before) => ({ ...before, ...changes }));
    reset();
  };
  useBlocker({
    shouldBlockFn: () => dirty && !busy && !done && !confirm(text.common.unsaved),
    enableBeforeUnload: () => dirty,
  });
  return (
    <Section title={id === undefined ? words.one : words.editor} actions={<Form draft={draft} onChange={setDraft} />}>
      <Stack gap="sm">
        <Head draft={draft} onChange={change} />
        <Template draft={draft} onChange={change} />
        <ModelFields draft={draft} onChange={change} />
        <ParameterFields
          parameters={draft.parameters}
          onChange={(parameters) => change({ parameters: { ...draft.parameters, ...parameters } })}
        />
        <Input.Wrapper label={words.tools} description={text.playground.toolsHint} labelElement="div" size="xs">
          <CodeEditor
            label={words.tools}
            value={draft.tools}
            onChange={(tools) => change({ tools })}
            minHeight="3rem"
            maxHeight="16rem"
            lines={false}
          />
        </Input.Wrapper>
        {error !== undefined && <Failure error={error} />}
        {editable && (
          <Group align="end">
            {id !== undefined && (
              <TextInput
                label={words.description}
                placeholder={words.descriptionHint}
                value={draft.description}
                onChange={(event) => change({ description: event.currentTarget.value })}
                style={{ flex: "1 1 12rem" }}
              />
            )}
            <Button
              onClick={() => void save(draft)}
              loading={busy}
              disabled={draft.name.trim() === "" || (id !== undefined && !dirty)}
            >
              {id === undefined ? text.common.create : words.saveVersion}
            </Button>
          </Group>
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

function Head({ draft, onChange }: PartProps): ReactNode {
  const collections = useCollections();
  return (
    <Group align="end" gap="sm">
      <TextInput
        label={text.common.name}
        required
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
  const [open, setOpen] = useState(false);
  const providers = useProviders();
  const provider = draft.provider === "" ? "" : `@${draft.provider}`;
  const models = useModels(provider, open);
  return (
    <Group gap="sm" align="end">
      <Select
        label={words.provider}
        data={providers.includes(provider) || provider === "" ? [...providers] : [...providers, provider]}
        value={provider === "" ? null : provider}
        onChange={(name) => onChange({ provider: (name ?? "").replace(/^@/, "") })}
        clearable
        searchable
        style={{ flex: "1 1 9rem" }}
      />
      <Autocomplete
        label={words.model}
        data={[...models]}
        limit={100}
        value={draft.model}
        onChange={(model) => onChange({ model })}
        onFocus={() => setOpen(true)}
        size="xs"
        style={{ flex: "1 1 9rem" }}
      />
    </Group>
  );
}
