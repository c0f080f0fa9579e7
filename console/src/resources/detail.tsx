import { Alert, Button, Modal, Stack, Tabs } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useMemo, useState } from "react";
import { call } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { CodeEditor } from "@/components/code-editor.tsx";
import { Icon } from "@/components/icons.tsx";
import { Members } from "@/components/members.tsx";
import { ShowSecret } from "@/components/show-secret.tsx";
import { Failure, Waiting } from "@/components/states.tsx";
import { CopiedCode, isEmpty, Tags, Value } from "@/components/value.tsx";
import { DeleteButton } from "@/layout/delete-button.tsx";
import { Facts } from "@/layout/facts.tsx";
import { DetailPage, Section } from "@/layout/page.tsx";
import { formatTime } from "@/lib/format.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/frame.ts";
import {
  fillPath,
  listTitleOf,
  splitRow,
  titleOf,
  useForget,
  useRecord,
  useWorkspaceQuery,
  withoutNulls,
} from "./data.ts";
import type { Action, ActionResult, Condition, Resource, ResourceSection } from "./types.ts";

/** The page of one record: facts, sections, JSON, and what can be done with it. */
export function ResourceDetail({ resource }: { readonly resource: Resource }): ReactNode {
  const { id = "" } = useParams({ strict: false });
  const { can, principal } = useSession();
  const { data, error, refetch } = useRecord(resource, id);
  const back = { to: `/${resource.name}`, label: listTitleOf(resource) };
  if (error !== null) {
    return (
      <DetailPage title={id} back={back}>
        <Failure error={error} onRetry={() => void refetch()} />
      </DetailPage>
    );
  }
  if (data === undefined) return <Waiting />;
  const sections = (resource.sections ?? []).filter(
    ({ row, when }) => can(row) && (when === undefined || when(data, principal)),
  );
  const facts = (resource.facts ?? resource.columns)
    .filter(({ when }) => when === undefined || when(data))
    .map((fact) => [fact.label, renderFact(fact, data)] as const);
  return (
    <DetailPage
      title={titleOf(resource, data) || id}
      back={back}
      actions={
        <RecordActions resource={resource} record={data} id={id}>
          {sections
            .filter(({ isInHead }) => isInHead === true)
            .map((section) => (
              <PartView key={section.title} section={section} record={data} id={id} />
            ))}
        </RecordActions>
      }
    >
      <Tabs defaultValue="details" keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="details">{text.common.details}</Tabs.Tab>
          <Tabs.Tab value="json">{text.common.json}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="details">
          <Section title={text.common.details} isPlain>
            <Facts rows={facts} />
          </Section>
          {sections
            .filter(({ isInHead }) => isInHead !== true)
            .map((section) => (
              <Part key={section.title} section={section} record={data} id={id} />
            ))}
        </Tabs.Panel>
        <Tabs.Panel value="json">
          <CodeEditor label={text.common.json} value={JSON.stringify(withoutNulls(data), undefined, 2)} />
        </Tabs.Panel>
      </Tabs>
    </DetailPage>
  );
}

/** The value of a fact as a detail page shows it. */
export function renderFact<T>({ label, of, kind = "text", render, empty }: Attribute<T>, record: T): ReactNode {
  const value = of(record);
  if (empty !== undefined && isEmpty(value)) return <Value value={value} empty={empty} />;
  if (render !== undefined && value !== undefined && value !== null) return render(record);
  if (kind === "tags" && Array.isArray(value) && value.length > 0) return <Tags values={value.map(String)} isWhole />;
  if (kind === "id" && typeof value === "string" && value !== "") {
    return <CopiedCode value={value} label={label} />;
  }
  // on the page of a record there is room for the date
  if (typeof value === "string" && kind === "ago") return <Value value={value} kind="time" />;
  if (typeof value === "number" && kind === "seconds") return formatTime(value * 1000);
  if (kind === "settings") return <Members value={value} isWorded />;
  return kind === "json" ? <Members value={value} /> : <Value value={value} kind={kind} />;
}

interface PartProps {
  readonly section: ResourceSection;
  readonly record: object;
  readonly id: string;
}

function Part(props: PartProps): ReactNode {
  return (
    <div style={{ marginBlockStart: "var(--space-4)" }}>
      <Section title={props.section.title}>
        <PartView {...props} />
      </Section>
    </div>
  );
}

/** What a part shows; its code is loaded now. */
function PartView({ section, record, id }: PartProps): ReactNode {
  const View = useMemo(() => lazy(section.load), [section]);
  return (
    <Suspense
      fallback={
        section.isInHead === true ? (
          <Button variant="default" loading>
            {section.title}
          </Button>
        ) : (
          <Waiting />
        )
      }
    >
      <View record={record} id={id} />
    </Suspense>
  );
}

interface RecordActionsProps {
  readonly resource: Resource;
  readonly record: object;
  readonly id: string;
  /** Further buttons: they stand behind what one does next with the record, and before its change. */
  readonly children: ReactNode;
}

function RecordActions({ resource, record, id, children }: RecordActionsProps): ReactNode {
  const { can, principal } = useSession();
  const navigate = useNavigate();
  const forget = useForget(resource);
  const workspace = useWorkspaceQuery(resource);
  const { update, remove } = resource;
  const holds = (when: Condition | undefined) => when === undefined || when(record, principal);
  const shown = (resource.actions ?? []).filter(({ row, when }) => can(row) && holds(when));
  const confirmRemove = async () => {
    if (remove === undefined) return;
    const { method, path } = splitRow(remove.row);
    await call(method, fillPath(path, id), {
      query: workspace,
      ...(remove.body !== undefined && { body: remove.body(record) }),
    });
    await forget();
    notifications.show({ message: text.common.deleted({ what: resource.text.one }) });
    await navigate({ to: `/${resource.name}` });
  };
  return (
    <>
      {shown.map((action) => (
        <ActionButton key={action.label} action={action} record={record} id={id} query={workspace} onDone={forget} />
      ))}
      {children}
      {update !== undefined && can(update.rows[0]) && holds(update.when) && (
        <Button
          component={Link}
          to={`/${resource.name}/${encodeURIComponent(id)}/edit`}
          variant="default"
          leftSection={<Icon name="edit" size={14} />}
        >
          {text.common.edit}
        </Button>
      )}
      {remove !== undefined && holds(remove.when) && (
        <DeleteButton
          row={remove.row}
          what={resource.text.one}
          name={titleOf(resource, record) || id}
          onConfirm={confirmRemove}
        />
      )}
    </>
  );
}

/** What became of an action: its sentence, then what the sentence is about. */
function Done({ message, facts = [], isFailure = false }: ActionResult): ReactNode {
  return (
    <Stack gap="md">
      <Alert
        color={isFailure ? "red" : "teal"}
        variant="light"
        icon={<Icon name={isFailure ? "warning" : "check"} />}
        role="status"
      >
        {message}
      </Alert>
      <Facts rows={facts} />
    </Stack>
  );
}

interface ActionButtonProps {
  readonly action: Action;
  readonly record: object;
  readonly id: string;
  readonly query: Readonly<Record<string, string>>;
  readonly onDone: () => Promise<void>;
}

function ActionButton({ action, record, id, query, onDone }: ActionButtonProps): ReactNode {
  const [busy, setBusy] = useState(false);
  const [result, setResult] = useState<{ error?: unknown; secret?: string; done?: ActionResult }>({});
  const run = async () => {
    if (action.confirm !== undefined && !confirm(action.confirm)) return;
    setBusy(true);
    try {
      const { method, path } = splitRow(action.row);
      const answer = await call(method, fillPath(path, id), {
        query,
        body: action.body?.(record),
      });
      const secret = action.secret?.(answer) ?? undefined;
      const done = action.done(answer);
      // what has no more to say than its sentence needs no dialog
      if (done.facts === undefined) notifications.show({ message: done.message });
      setResult({ ...(secret !== undefined && { secret }), ...(done.facts !== undefined && { done }) });
      await onDone();
    } catch (error) {
      setResult({ error });
    } finally {
      setBusy(false);
    }
  };
  const close = () => setResult({});
  return (
    <>
      <Button
        variant={action.isMain === true ? "filled" : "default"}
        loading={busy}
        onClick={() => void run()}
        leftSection={<Icon name={action.icon} size={14} />}
      >
        {action.label}
      </Button>
      {result.secret !== undefined && <ShowSecret value={result.secret} onClose={close} />}
      {(result.error !== undefined || result.done !== undefined) && (
        <Modal
          opened
          onClose={close}
          title={action.label}
          size="lg"
          closeButtonProps={{ "aria-label": text.common.close }}
        >
          {result.error !== undefined && <Failure error={result.error} />}
          {result.done !== undefined && <Done {...result.done} />}
        </Modal>
      )}
    </>
  );
}
