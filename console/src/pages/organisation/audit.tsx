import { Alert, Button, Input, Modal, Select, SimpleGrid, Stack, TextInput } from "@mantine/core";
import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useCallback, useMemo, useState } from "react";
import { type AnswerOf, get } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { CodeEditor } from "@/components/code-editor.tsx";
import { DataTable } from "@/components/data-table.tsx";
import { Icon } from "@/components/icons.tsx";
import { Members } from "@/components/members.tsx";
import { Empty, Failure, Waiting } from "@/components/states.tsx";
import { Facts } from "@/layout/facts.tsx";
import { ListPage } from "@/layout/page.tsx";
import { formatNumber } from "@/lib/format.ts";
import { useSearchParams } from "@/lib/search.ts";
import { nameOf } from "@/lib/words.ts";
import { renderFact } from "@/resources/detail.tsx";
import { toColumn } from "@/resources/list.tsx";
import { ActorName, showWorkspace } from "@/resources/names.tsx";
import { text } from "@/text/text.ts";
import classes from "./audit.module.css";
import { auditedActions, auditedResources, choicesOf } from "./audit-values.ts";

const words = text.audit;
const dayMs = 86_400_000;

type AuditRow = AnswerOf<"GET /v1/audit-logs">["records"][number];

const titleOf = ({ resource_type: type, action }: AuditRow): string =>
  `${nameOf(type)}: ${nameOf(action).toLowerCase()}`;

const who = (record: AuditRow) => <ActorName record={record} />;

/** What happened, and below it by whom: a phone has no room for them beside each other. */
const whatAndWho = (record: AuditRow) => (
  <div className={classes.lines}>
    <div>{titleOf(record)}</div>
    <div>{who(record)}</div>
  </div>
);

const columns: readonly Attribute<AuditRow>[] = [
  { label: words.time, of: ({ timestamp }) => timestamp, kind: "time", track: "13rem", wide: true },
  { label: words.time, of: ({ timestamp }) => timestamp, kind: "ago", track: "4rem", narrow: true },
  { label: words.whatAndWho, of: ({ action }) => action, track: "minmax(8rem, 1fr)", narrow: true, render: whatAndWho },
  { label: words.who, of: ({ user_id }) => user_id, track: "minmax(8rem, 1fr)", wide: true, render: who },
  {
    label: words.action,
    of: ({ action }) => action,
    track: "6rem",
    wide: true,
    render: ({ action }) => nameOf(action),
  },
  {
    label: words.resource,
    of: ({ resource_type }) => resource_type,
    track: "minmax(8rem, 1fr)",
    wide: true,
    render: ({ resource_type: type }) => nameOf(type),
  },
  { label: words.path, of: ({ uri }) => uri, kind: "code", track: "minmax(12rem, 2fr)", wide: true },
  {
    label: words.status,
    of: ({ response_status_code }) => response_status_code,
    kind: "status",
    track: "4rem",
    wide: true,
  },
  { label: words.address, of: ({ client_ip }) => client_ip, kind: "code", track: "8rem", wide: true },
];

const details: readonly Attribute<AuditRow>[] = [
  { label: words.time, of: ({ timestamp }) => timestamp, kind: "time" },
  { label: words.who, of: ({ user_id }) => user_id, render: who },
  { label: words.method, of: ({ method }) => method, kind: "code" },
  { label: words.path, of: ({ uri }) => uri, kind: "code" },
  {
    label: words.query,
    of: ({ query_params }) => query_params,
    render: ({ query_params: query }) => <Members value={parse(query)} />,
  },
  { label: words.status, of: ({ response_status_code }) => response_status_code, kind: "status" },
  { label: text.common.workspace, of: ({ workspace_id }) => workspace_id, render: showWorkspace },
  { label: words.record, of: ({ resource_id }) => resource_id, kind: "id" },
  { label: words.address, of: ({ client_ip }) => client_ip, kind: "code" },
  { label: words.requestId, of: ({ request_id }) => request_id, kind: "id" },
];

/** Who changed what: filters in the address, a record opens with its request body. */
export default function AuditLog(): ReactNode {
  const search = useSearchParams();
  const [open, setOpen] = useState<AuditRow>();
  const now = useMemo(() => Date.now(), []);
  const from = search.from ?? new Date(now - 30 * dayMs).toISOString().slice(0, 10);
  const to = search.to ?? new Date(now).toISOString().slice(0, 10);
  const { data, error, isPending, refetch, fetchNextPage, hasNextPage } = useInfiniteQuery({
    queryKey: ["audit", from, to, search.resource_type, search.action],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      get("/v1/audit-logs", {
        query: {
          start_time: `${from}T00:00:00.000Z`,
          end_time: `${to}T23:59:59.999Z`,
          resource_type: search.resource_type,
          action: search.action,
          current_page: pageParam,
          page_size: 100,
        },
        signal,
      }),
    getNextPageParam: (last, pages, param) =>
      pages.reduce((sum, { records }) => sum + records.length, 0) < last.total ? param + 1 : undefined,
  });
  const rows = useMemo(() => (data?.pages ?? []).flatMap(({ records }) => records), [data]);
  const onEnd = useCallback(() => void fetchNextPage(), [fetchNextPage]);
  return (
    <ListPage
      title={words.title}
      about={words.about}
      actions={<Verification />}
      filters={<AuditFilters from={from} to={to} />}
    >
      {isPending && <Waiting />}
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data !== undefined && rows.length === 0 && <Empty title={text.common.nothingMatches} hint={words.empty} />}
      {rows.length > 0 && (
        <DataTable
          label={words.title}
          columns={columns.map((column) => toColumn(column))}
          rows={rows}
          idOf={(row) => row.request_id + row.timestamp}
          onOpen={setOpen}
          onEnd={onEnd}
          hasMore={hasNextPage}
          above="15rem"
        />
      )}
      {open !== undefined && <AuditRecord record={open} onClose={() => setOpen(undefined)} />}
    </ListPage>
  );
}

function AuditFilters({ from, to }: { readonly from: string; readonly to: string }): ReactNode {
  const search = useSearchParams();
  const navigate = useNavigate();
  const set = (name: string, value: string | null) =>
    void navigate({ to: ".", search: { ...search, [name]: value ?? undefined }, replace: true });
  return (
    <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="xs" verticalSpacing="xs" w={{ base: "100%", sm: "auto" }}>
      <TextInput
        type="date"
        label={words.from}
        value={from}
        onChange={(event) => set("from", event.currentTarget.value)}
      />
      <TextInput type="date" label={words.to} value={to} onChange={(event) => set("to", event.currentTarget.value)} />
      <Select
        data-search
        label={words.resource}
        placeholder={words.any}
        data={choicesOf(auditedResources, search.resource_type)}
        searchable
        clearable
        value={search.resource_type ?? null}
        onChange={(value) => set("resource_type", value)}
      />
      <Select
        label={words.action}
        placeholder={words.any}
        data={choicesOf(auditedActions, search.action)}
        searchable
        clearable
        value={search.action ?? null}
        onChange={(value) => set("action", value)}
      />
    </SimpleGrid>
  );
}

function AuditRecord({ record, onClose }: { readonly record: AuditRow; readonly onClose: () => void }): ReactNode {
  const facts = details.map((fact) => [fact.label, renderFact(fact, record)] as const);
  const body = record.request_body;
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={titleOf(record)}
      closeButtonProps={{ "aria-label": text.common.close }}
    >
      <Stack>
        <Facts rows={facts} />
        {body !== "" && (
          <Input.Wrapper label={words.request} labelElement="div">
            <CodeEditor label={words.request} value={formatBody(body)} minHeight="4rem" />
          </Input.Wrapper>
        )}
      </Stack>
    </Modal>
  );
}

/** Stored JSON, or the text as it is where it was cut. */
function parse(stored: string): unknown {
  try {
    return JSON.parse(stored);
  } catch {
    return stored;
  }
}

/** The stored body indented. */
function formatBody(body: string): string {
  const parsed = parse(body);
  return typeof parsed === "string" ? parsed : JSON.stringify(parsed, undefined, 2);
}

interface Verified {
  readonly problem: string | null;
  readonly count: number;
}

/** Follows the chain to its end, part by part. */
async function verify(): Promise<Verified> {
  let count = 0;
  for (let after: string | undefined; ; ) {
    const part = await get("/v1/audit-logs/verification", { query: { after } });
    count += part.checked;
    after = part.last;
    if (!part.has_more || !part.intact) return { problem: part.problem, count };
  }
}

function Verification(): ReactNode {
  const { mutate, data, error, isPending } = useMutation({ mutationFn: verify });
  return (
    <Stack gap="xs" align="end">
      <Button
        variant="default"
        loading={isPending}
        onClick={() => mutate()}
        leftSection={<Icon name="check" size={14} />}
      >
        {words.verify}
      </Button>
      {error !== null && <Failure error={error} />}
      {data !== undefined && (
        <Alert color={data.problem === null ? "green" : "red"} variant="light" py={6} role="status">
          {data.problem === null
            ? words.verified({ count: formatNumber(data.count) })
            : `${words.broken}: ${data.problem}`}
        </Alert>
      )}
    </Stack>
  );
}
