import { Button, Group, Skeleton, Stack, Switch, Text, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useBlocker, useNavigate } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { CodeField } from "@/components/code-field.tsx";
import { type JsonMark, type JsonPath, readJsonPath } from "@/components/json-schema.ts";
import { Failure } from "@/components/states.tsx";
import { Section } from "@/layout/page.tsx";
import type { JsonObject } from "@/lib/json.ts";
import { FormOrJson, StaysHere } from "@/resources/form-or-json.tsx";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import classes from "./config-tree.module.css";
import { ConfigTree } from "./config-tree.tsx";
import { type Draft, marksOf, useParsed, useSaveConfig } from "./draft.ts";
import { type NodePath, nodeAt, readLabel, type TreeChange, toLabel, withNode } from "./edit-tree.ts";
import { findMarks, useConfigSchema, useEditedConfig } from "./edited.ts";
import { Explain } from "./explain.tsx";
import { marksOfNode, splitPath } from "./form.ts";
import type { Plan } from "./plan.ts";
import { readTree } from "./tree.ts";
import { TreeButtons } from "./tree-buttons.tsx";

const NodeForm = lazy(async () => ({ default: (await import("./node-form.tsx")).NodeForm }));

const words = text.configs;

interface ConfigEditorProps {
  /** Left out: a new config is made. */
  readonly slug?: string | undefined;
  readonly initial: Draft;
}

/** Saves what is edited, unless the schema refuses it first: the node of the first complaint is then chosen. */
function useSubmit(slug: string | undefined, choose: (at: NodePath) => void) {
  const navigate = useNavigate();
  const save = useSaveConfig(slug);
  const [found, setFound] = useState<readonly JsonMark[]>([]);
  const refused = useMemo(() => marksOf(save.error), [save.error]);
  const clear = () => {
    save.reset();
    setFound([]);
  };
  const show = (marks: readonly JsonMark[]) => {
    const [first] = marks;
    if (first !== undefined) choose(splitPath(first.path)[0]);
  };
  const submit = async (draft: Draft, marks: readonly JsonMark[]) => {
    setFound(marks);
    show(marks);
    if (marks.length > 0) return;
    const saved = await save.mutateAsync(draft).catch((error: unknown) => show(marksOf(error)));
    if (saved === undefined) return;
    notifications.show({ message: slug === undefined ? text.common.created({ what: words.one }) : text.common.saved });
    if (slug === undefined) setTimeout(() => void navigate({ to: `/configs/${encodeURIComponent(saved)}` }), 0);
  };
  return { save, submit, clear, marks: found.length > 0 ? found : refused };
}

/** A config as a form or as JSON beside its tree, with what it would do with a request. */
export function ConfigEditor({ slug, initial }: ConfigEditorProps): ReactNode {
  const { can } = useSession();
  const editable = can(slug === undefined ? "POST /v1/configs" : "PUT /v1/configs/{slug}");
  const [asked, setAsked] = useState(false);
  const [plan, setPlan] = useState<Plan>();
  const [reveal, setReveal] = useState<{ readonly path: JsonPath }>();
  const schema = useConfigSchema();
  const edited = useEditedConfig(initial, editable, () => {
    setPlan(undefined);
    clear();
  });
  const { draft, form, at, choose, problem } = edited;
  const { save, submit, clear, marks } = useSubmit(slug, choose);
  const { value, broken: isBroken } = useParsed(draft.code);
  const broken = isBroken || (form !== undefined && problem !== undefined);
  const tree = useMemo(() => readTree(value), [value]);
  const dirty = JSON.stringify(draft) !== JSON.stringify(initial);
  useBlocker({
    shouldBlockFn: () => dirty && !save.isSuccess && !confirm(text.common.unsaved),
    enableBeforeUnload: () => dirty,
  });
  const send = () => {
    setAsked(true);
    if (broken || draft.name.trim() === "") return;
    void submit(draft, form === undefined || schema === undefined ? [] : findMarks(schema, value));
  };
  const onTree = ({ root, at: next }: TreeChange) => {
    edited.fill(root);
    choose(next);
  };
  // secrets of a saved config are shown masked: an unchanged one is explained by its name
  const explained = () => (slug !== undefined && draft.code === initial.code ? slug : JSON.parse(draft.code));
  return (
    <div className={classes.halves}>
      <Section
        title={words.one}
        actions={editable && <FormOrJson isJson={form === undefined} onChange={edited.switchTo} />}
      >
        <Stack gap="sm">
          <Head draft={draft} editable={editable} asked={asked} onChange={edited.change} />
          {save.error !== null && <Failure error={save.error} />}
          <StaysHere reason={form === undefined ? problem : undefined} />
          {form === undefined || schema === undefined ? (
            <Code {...{ draft, editable, marks, reveal, schema }} onChange={(code) => edited.change({ code })} />
          ) : (
            <ChosenNode {...{ schema, form, at, marks }} onChange={edited.fill} />
          )}
          {editable && <Footer {...{ slug, broken, dirty, asked, problem }} isBusy={save.isPending} onSave={send} />}
        </Stack>
      </Section>
      <Stack gap="md" miw={0}>
        <Section title={words.tree}>
          {form !== undefined && <TreeButtons root={form} at={at} onChange={onTree} />}
          <ConfigTree
            root={tree}
            plan={plan}
            chosen={toLabel(at)}
            refused={marks.map(({ path }) => toLabel(splitPath(path)[0]))}
            onChoose={(path) => {
              choose(readLabel(path));
              setReveal({ path: readJsonPath(path.replace(/^config\.?/, "")) });
            }}
          />
        </Section>
        <Explain config={explained} plan={plan} onPlan={setPlan} />
      </Stack>
    </div>
  );
}

interface ChosenNodeProps {
  readonly schema: JsonObject;
  readonly form: JsonObject;
  readonly at: NodePath;
  readonly marks: readonly JsonMark[];
  readonly onChange: (form: JsonObject) => void;
}

/** The inputs of the node that is chosen in the tree; the first that is refused gets the focus. */
function ChosenNode({ schema, form, at, marks, onChange }: ChosenNodeProps): ReactNode {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (marks.length > 0) host.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [marks]);
  const node = nodeAt(form, at);
  const label = toLabel(node === undefined ? [] : at);
  return (
    <div ref={host}>
      <Text size="xs" c="dimmed" mb="xs">
        <span className="code">{label}</span>
      </Text>
      <Suspense fallback={<Skeleton height="20rem" />}>
        <NodeForm
          key={label}
          schema={schema}
          node={node ?? form}
          isRoot={label === "config"}
          marks={marksOfNode(marks, at)}
          onChange={(next) => onChange(withNode(form, node === undefined ? [] : at, next))}
        />
      </Suspense>
    </div>
  );
}

interface FooterProps {
  readonly slug: string | undefined;
  readonly broken: boolean;
  readonly dirty: boolean;
  readonly asked: boolean;
  readonly problem: string | undefined;
  readonly isBusy: boolean;
  readonly onSave: () => void;
}

function Footer({ slug, broken, dirty, asked, problem, isBusy, onSave }: FooterProps): ReactNode {
  const navigate = useNavigate();
  return (
    <Group gap="xs">
      <Button onClick={onSave} loading={isBusy} disabled={slug !== undefined && (broken || !dirty)}>
        {slug === undefined ? words.create : text.common.save}
      </Button>
      {slug === undefined && (
        <Button variant="default" onClick={() => void navigate({ to: "/configs" })}>
          {text.common.cancel}
        </Button>
      )}
      {broken && (
        <Text size="sm" c={asked ? "var(--bad)" : "dimmed"} role="status">
          {problem ?? text.common.invalidJson}
        </Text>
      )}
    </Group>
  );
}

interface HeadProps {
  readonly draft: Draft;
  readonly editable: boolean;
  /** Whether a save was asked for: what it needs is then said. */
  readonly asked: boolean;
  readonly onChange: (changes: Partial<Draft>) => void;
}

function Head({ draft, editable, asked, onChange }: HeadProps): ReactNode {
  return (
    <Group align="start" gap="sm">
      <TextInput
        label={text.common.name}
        required
        error={asked && draft.name.trim() === "" ? words.nameFirst : undefined}
        value={draft.name}
        readOnly={!editable}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
        style={{ flex: "1 1 12rem" }}
      />
      <Switch
        label={words.isDefaultOf}
        checked={draft.isDefault}
        disabled={!editable}
        onChange={(event) => onChange({ isDefault: event.currentTarget.checked })}
        className={classes.beside}
      />
    </Group>
  );
}

interface CodeProps {
  readonly draft: Draft;
  readonly editable: boolean;
  readonly marks: readonly JsonMark[];
  readonly reveal: { readonly path: JsonPath } | undefined;
  readonly schema: JsonObject | undefined;
  readonly onChange: (code: string) => void;
}

function Code({ draft, editable, marks, reveal, schema, onChange }: CodeProps): ReactNode {
  if (schema === undefined) return null;
  return (
    <CodeField
      label={words.json}
      value={draft.code}
      onChange={editable ? onChange : undefined}
      schema={schema}
      marks={marks}
      reveal={reveal}
      minHeight="22rem"
    />
  );
}
