import { Alert, Badge, Button, Stack, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import { get } from "@/api/client.ts";
import { Icon } from "@/components/icons.tsx";
import { Failure, Waiting } from "@/components/states.tsx";
import { DetailPage } from "@/layout/page.tsx";
import { formatTime } from "@/lib/format.ts";
import { textOf } from "@/lib/json.ts";
import { useChangeSearch, useSearchParams } from "@/lib/search.ts";
import { nameOf } from "@/lib/words.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { Changes } from "./changes.tsx";
import { CodeDialog } from "./code-dialog.tsx";
import { readConversation } from "./conversation/read.ts";
import { ConversationView } from "./conversation/view.tsx";
import { LogFacts } from "./facts.tsx";
import { Feedback } from "./feedback.tsx";
import { countHooks, Denials, Hooks } from "./hooks.tsx";
import { Raw } from "./raw.tsx";
import { Replay } from "./replay.tsx";
import { type LogRow, toLogRow } from "./row.ts";
import { Timeline } from "./timeline.tsx";
import { Usage } from "./usage.tsx";

const words = text.logs;

const replayRow = "POST /v1/logs/{id}/replay";

/** The page of one request. */
export default function Log(): ReactNode {
  const { id = "" } = useParams({ strict: false });
  return <LogView id={id} back={{ to: "/logs", label: words.title }} />;
}

interface LogViewProps {
  readonly id: string;
  /** The way back; absent beside the list. */
  readonly back?: { readonly to: string; readonly label: string } | undefined;
}

/** One request: as conversation and as JSON, where its time and money went, and what can be done with it. */
export function LogView({ id, back }: LogViewProps): ReactNode {
  const { data, error, refetch } = useQuery({
    queryKey: ["logs", "row", id],
    // rows do not change, and may be large: nothing is compared, and nothing stays once the page is left
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    structuralSharing: false,
    queryFn: async ({ signal }) => toLogRow(await get("/v1/logs/{id}", { path: { id }, signal })),
  });
  if (error !== null) {
    return (
      <DetailPage title={id} back={back}>
        <Failure error={error} onRetry={() => void refetch()} />
      </DetailPage>
    );
  }
  if (data === undefined) return <Waiting />;
  return (
    <DetailPage
      title={titleOf(data)}
      about={formatTime(textOf(data.created_at))}
      back={back}
      actions={<LogActions row={data} id={id} />}
      aside={<LogFacts row={data} />}
    >
      {data.error && (
        <Alert
          color="red"
          variant="light"
          icon={<Icon name="warning" />}
          title={textOf(data.error.code) || textOf(data.error.type)}
        >
          <Denials row={data} />
          <Text size="sm" style={{ overflowWrap: "anywhere" }}>
            {textOf(data.error.message)}
          </Text>
        </Alert>
      )}
      {data.contents_unavailable === true && (
        <Alert color="yellow" variant="light">
          {words.contentsAway}
        </Alert>
      )}
      <LogTabs row={data} />
    </DetailPage>
  );
}

/** What was asked of which model; the path where neither is known. */
function titleOf(row: LogRow): string {
  const parts = [nameOf(textOf(row.operation)), textOf(row.model)].filter((part) => part !== "");
  return parts.join(" · ") || textOf(row.path);
}

function LogActions({ row, id }: { readonly row: LogRow; readonly id: string }): ReactNode {
  const { can } = useSession();
  const [code, setCode] = useState(false);
  return (
    <>
      {row.trace_id !== undefined && can("GET /v1/logs") && (
        <Button component={Link} to={`/traces/${encodeURIComponent(row.trace_id)}`} variant="default">
          {text.traces.open}
        </Button>
      )}
      <Button variant="default" leftSection={<Icon name="copy" size={14} />} onClick={() => setCode(true)}>
        {words.code.title}
      </Button>
      {can("POST /v1/chat/completions") && (
        <Button
          component={Link}
          to={`/playground?log=${encodeURIComponent(id)}`}
          variant="default"
          leftSection={<Icon name="playground" size={14} />}
        >
          {words.openInPlayground}
        </Button>
      )}
      {code && <CodeDialog row={row} onClose={() => setCode(false)} />}
    </>
  );
}

function LogTabs({ row }: { readonly row: LogRow }): ReactNode {
  const { can } = useSession();
  const search = useSearchParams();
  const change = useChangeSearch();
  const hooks = countHooks(row);
  const { finalUntransformedRequest, transformedRequest, originalResponse, dropped_params: dropped } = row;
  const changes = [finalUntransformedRequest, transformedRequest, originalResponse, dropped].filter(
    (change) => change !== undefined,
  ).length;
  const tabs: readonly (readonly [string, ReactNode, () => ReactNode])[] = [
    ["conversation", words.tabs.conversation, () => <Messages row={row} />],
    ["timeline", words.tabs.timeline, () => <Timeline row={row} />],
    ["usage", words.tabs.usage, () => <Usage row={row} />],
    ["changes", <Counted key="changes" label={words.tabs.changes} count={changes} />, () => <Changes row={row} />],
    ["hooks", <Counted key="hooks" label={words.tabs.hooks} count={hooks} />, () => <Hooks row={row} />],
    ["feedback", words.tabs.feedback, () => <Feedback row={row} />],
    ["json", text.common.json, () => <Raw row={row} />],
    ...(can(replayRow) ? [["replay", words.replay.title, () => <Replay row={row} />] as const] : []),
  ];
  const open = tabs.some(([name]) => name === search.tab) ? search.tab : "conversation";
  return (
    <Tabs value={open ?? null} onChange={(tab) => change({ tab: tab ?? undefined })} keepMounted={false}>
      <Tabs.List mb="md">
        {tabs.map(([name, label]) => (
          <Tabs.Tab key={name} value={name}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map(([name, , render]) => (
        <Tabs.Panel key={name} value={name}>
          {name === open && render()}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

function Counted({ label, count }: { readonly label: string; readonly count: number }): ReactNode {
  return (
    <>
      {label}
      {count > 0 && (
        <Badge variant="default" radius="sm" size="sm" ml={6}>
          {count}
        </Badge>
      )}
    </>
  );
}

/** The conversation, or the bodies as JSON where the request is none. */
function Messages({ row }: { readonly row: LogRow }): ReactNode {
  const conversation = useMemo(() => {
    const answer = row.response?.body;
    return readConversation(textOf(row.operation), row.request?.body, answer);
  }, [row]);
  if (conversation !== undefined) return <ConversationView conversation={conversation} />;
  return (
    <Stack gap="md">
      <Text size="sm" c="dimmed">
        {words.noConversation}
      </Text>
      <Raw row={row} />
    </Stack>
  );
}
