import { Button, Group, Stack, Switch, Text, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { useBlocker, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import { CodeField } from "@/components/code-field.tsx";
import { type JsonPath, readJsonPath } from "@/components/json-schema.ts";
import { Failure } from "@/components/states.tsx";
import { Section } from "@/layout/page.tsx";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import classes from "./config-tree.module.css";
import { ConfigTree } from "./config-tree.tsx";
import { type Draft, marksOf, useParsed, useSaveConfig } from "./draft.ts";
import { Explain } from "./explain.tsx";
import type { Plan } from "./plan.ts";
import { readTree } from "./tree.ts";

const words = text.configs;

interface ConfigEditorProps {
  /** Left out: a new config is made. */
  readonly slug?: string | undefined;
  readonly initial: Draft;
}

/** A config as JSON beside its tree, with what it would do with a request. */
export function ConfigEditor({ slug, initial }: ConfigEditorProps): ReactNode {
  const navigate = useNavigate();
  const { can } = useSession();
  const [draft, setDraft] = useState(initial);
  const [asked, setAsked] = useState(false);
  const [plan, setPlan] = useState<Plan>();
  const [reveal, setReveal] = useState<{ readonly path: JsonPath }>();
  const save = useSaveConfig(slug);
  const { value, broken } = useParsed(draft.code);
  const tree = useMemo(() => readTree(value), [value]);
  const marks = useMemo(() => marksOf(save.error), [save.error]);
  const dirty = JSON.stringify(draft) !== JSON.stringify(initial);
  useBlocker({
    shouldBlockFn: () => dirty && !save.isSuccess && !confirm(text.common.unsaved),
    enableBeforeUnload: () => dirty,
  });
  const change = (changes: Partial<Draft>) => {
    setDraft((before) => ({ ...before, ...changes }));
    if (changes.code !== undefined) setPlan(undefined);
    save.reset();
  };
  const submit = async () => {
    setAsked(true);
    if (broken || draft.name.trim() === "") return;
    const saved = await save.mutateAsync(draft).catch(() => undefined);
    if (saved === undefined) return;
    notifications.show({ message: slug === undefined ? text.common.created(words.one) : text.common.saved });
    if (slug === undefined) setTimeout(() => void navigate({ to: `/configs/${encodeURIComponent(saved)}` }), 0);
  };
  const editable = can(slug === undefined ? "POST /v1/configs" : "PUT /v1/configs/{slug}");
  // secrets of a saved config are shown masked: an unchanged one is explained by its name
  const explained = () => (slug !== undefined && draft.code === initial.code ? slug : JSON.parse(draft.code));
  return (
    <div className={classes.halves}>
      <Section title={words.one}>
        <Stack gap="sm">
          <Head draft={draft} editable={editable} asked={asked} onChange={change} />
          {save.error !== null && <Failure error={save.error} />}
          <Code draft={draft} editable={editable} marks={marks} reveal={reveal} onChange={(code) => change({ code })} />
          {editable && (
            <Group gap="xs">
              <Button
                onClick={() => void submit()}
                loading={save.isPending}
                disabled={slug !== undefined && (broken || !dirty)}
              >
                {slug === undefined ? words.create : text.common.save}
              </Button>
              {slug === undefined && (
                <Button variant="default" onClick={() => void navigate({ to: "/configs" })}>
                  {text.common.cancel}
                </Button>
              )}
              {broken && (
                <Text size="sm" c={asked ? "var(--bad)" : "dimmed"} role="status">
                  {text.common.invalidJson}
                </Text>
              )}
            </Group>
          )}
        </Stack>
      </Section>
      <Stack gap="md" miw={0}>
        <Section title={words.tree}>
          <ConfigTree
            root={tree}
            plan={plan}
            onChoose={(path) => setReveal({ path: readJsonPath(path.replace(/^config\.?/, "")) })}
          />
        </Section>
        <Explain config={explained} plan={plan} onPlan={setPlan} />
      </Stack>
    </div>
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
  readonly marks: ReturnType<typeof marksOf>;
  readonly reveal: { readonly path: JsonPath } | undefined;
  readonly onChange: (code: string) => void;
}

function Code({ draft, editable, marks, reveal, onChange }: CodeProps): ReactNode {
  const { data: schema } = useQuery({
    queryKey: ["schema", "RoutingConfig"],
    queryFn: async () => (await import("@/api/bodies.gen.ts")).routingConfig,
    staleTime: Number.POSITIVE_INFINITY,
  });
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
