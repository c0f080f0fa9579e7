import { Anchor, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type AnswerOf, get } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { RecordTable } from "@/components/record-table.tsx";
import { Failure, Waiting } from "@/components/states.tsx";
import { formatTime } from "@/lib/format.ts";
import { useLogScope } from "@/session/log-scope.ts";
import { text } from "@/text/text.ts";

const words = text.tools;

type Row = AnswerOf<"GET /v1/logs">["data"][number];

const columns: readonly Attribute<Row>[] = [
  {
    label: words.time,
    of: ({ created_at: at }) => at,
    render: ({ id = "", created_at: at }) => (
      <Anchor component={Link} to={`/logs/${encodeURIComponent(id)}`} inherit>
        {formatTime(at ?? "")}
      </Anchor>
    ),
  },
  { label: text.common.status, of: ({ status }) => status, kind: "status" },
  { label: words.latency, of: ({ duration_ms: duration }) => duration, kind: "duration" },
  {
    label: words.source,
    of: ({ source }) => text.logs.sources[source ?? "gateway"] ?? source,
    wide: true,
  },
  { label: words.client, of: ({ mcp }) => mcp?.client_name, wide: true },
];

interface LastCallsProps {
  readonly slug: string;
  readonly tool: string;
}

/** The newest calls of a tool, each with its log row. */
export function LastCalls({ slug, tool }: LastCallsProps): ReactNode {
  const scope = useLogScope();
  const query = { mcp_server: slug, mcp_tool: tool, limit: 10, ...scope };
  const { data, error, refetch } = useQuery({
    queryKey: ["logs", "of-tool", query],
    queryFn: ({ signal }) => get("/v1/logs", { query, signal }),
  });
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Waiting />;
  const all = new URLSearchParams({ mcp_server: slug, mcp_tool: tool });
  return (
    <Stack gap="sm">
      <RecordTable
        label={words.lastCalls}
        columns={columns}
        rows={data.data}
        idOf={({ id = "" }) => id}
        empty={words.noCalls}
      />
      {data.data.length > 0 && (
        <Anchor component={Link} to={`/logs?${all}`} size="sm">
          {words.allCalls}
        </Anchor>
      )}
    </Stack>
  );
}
