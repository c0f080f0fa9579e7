import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { call } from "@/api/client.ts";
import { formatDuration, formatNumber } from "@/lib/format.ts";
import { periodQuery, readPeriod } from "@/lib/period.ts";
import { type Row, readList, readPath, readText } from "@/lib/read.ts";
import { useSession } from "@/session/context.tsx";
import { useLogScope } from "@/session/log-scope.ts";
import { text } from "@/text/text.ts";
import type { ActionResult } from "./types.ts";

const words = text.resources.providers;

/** What requests of the last hour are grouped by, with the member of records that names a group. */
const kinds = {
  provider: { member: "slug", filter: "virtual_key" },
  integration: { member: "id", filter: undefined },
} as const;

type Kind = keyof typeof kinds;

/** What the log says of the last hour; read once for all rows of a list. */
function useHealth(kind: Kind) {
  const { can } = useSession();
  const scope = useLogScope();
  return useQuery({
    queryKey: ["health", kind, scope],
    enabled: can(`GET /v1/analytics/groups/${kind}`),
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const lastHour = periodQuery(readPeriod({ range: "1h" }, Date.now()));
      const query = { ...lastHour, ...scope, columns: "requests,error_count,p95_latency", page_size: 1000 };
      return readList(await call("GET", `/v1/analytics/groups/${kind}`, { query, signal }));
    },
  });
}

interface HealthProps {
  readonly kind: Kind;
  readonly name: string;
}

function Health({ kind, name }: HealthProps): ReactNode {
  const { data } = useHealth(kind);
  if (data === undefined) return "—";
  const row = data.find((one) => readText(one, kind) === name);
  if (row === undefined) return words.unused;
  const [requests, errors] = [Number(row.requests ?? 0), Number(row.error_count ?? 0)];
  const said = words.health(formatNumber(requests), requests, formatNumber(errors), errors);
  const { filter } = kinds[kind];
  return errors === 0 || filter === undefined ? (
    said
  ) : (
    <Link to="/logs" search={{ range: "1h", [filter]: name }}>
      {said}
    </Link>
  );
}

function Slowest({ kind, name }: HealthProps): ReactNode {
  const { data } = useHealth(kind);
  const p95 = data?.find((one) => readText(one, kind) === name)?.p95_latency;
  return typeof p95 === "number" ? formatDuration(p95) : "—";
}

/** Requests and errors of the last hour. */
export const healthOf = (kind: Kind) => (row: Row) => <Health kind={kind} name={readText(row, kinds[kind].member)} />;

/** The duration that 95 of 100 requests of the last hour did not exceed. */
export const slowestOf = (kind: Kind) => (row: Row) => <Slowest kind={kind} name={readText(row, kinds[kind].member)} />;

/** The test of a credential in words: it fails in the answer, not by its status. */
export function ofCredential(answer: unknown): ActionResult {
  const time = formatDuration(Number(readPath(answer, "response_time_ms")));
  const success = readPath(answer, "success");
  const status = readText(answer, "status_code");
  const models = readPath(answer, "models");
  return {
    message: success === true ? words.answered(time) : readText(answer, "message"),
    isFailure: success === false,
    facts: [
      [words.one, readText(answer, "provider")],
      ...(status === "" ? [] : [[text.common.status, status] as const]),
      ...(typeof models === "number" ? [[words.models, formatNumber(models)] as const] : []),
    ],
  };
}
