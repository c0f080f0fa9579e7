import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type AnswerOf, get } from "@/api/client.ts";
import { formatDuration, formatNumber } from "@/lib/format.ts";
import { periodQuery, readPeriod } from "@/lib/period.ts";
import { useSession } from "@/session/context.tsx";
import { useLogScope } from "@/session/log-scope.ts";
import { text } from "@/text/text.ts";
import type { ActionResult } from "./types.ts";

const words = text.resources.providers;

/** What requests of the last hour are grouped by, with the filter of the log that finds those of a group. */
const filters = { provider: "virtual_key", integration: undefined } as const;

type Kind = keyof typeof filters;

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
      const { data } =
        kind === "provider"
          ? await get("/v1/analytics/groups/provider", { query, signal })
          : await get("/v1/analytics/groups/integration", { query, signal });
      return new Map(data.map((group) => ["provider" in group ? group.provider : group.integration, group]));
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
  const row = data.get(name);
  if (row === undefined) return words.unused;
  const [requests, errors] = [Number(row.requests ?? 0), Number(row.error_count ?? 0)];
  const said = words.health({ requests, errors });
  const filter = filters[kind];
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
  const p95 = data?.get(name)?.p95_latency;
  return typeof p95 === "number" ? formatDuration(p95) : "—";
}

/** Requests and errors of the last hour. */
export const showHealth = (kind: Kind, name: string): ReactNode => <Health kind={kind} name={name} />;

/** The duration that 95 of 100 requests of the last hour did not exceed. */
export const showSlowest = (kind: Kind, name: string): ReactNode => <Slowest kind={kind} name={name} />;

/** The test of a credential in words: it fails in the answer, not by its status. */
export function ofCredential(answer: AnswerOf<"POST /v1/providers/{slug}/test">): ActionResult {
  const { provider, success, status_code: status, models } = answer;
  return {
    message: success === true ? words.answered({ time: formatDuration(answer.response_time_ms) }) : answer.message,
    isFailure: success === false,
    facts: [
      [words.one, provider],
      ...(status === null ? [] : [[text.common.status, String(status)] as const]),
      ...(models !== null ? [[words.models, formatNumber(models)] as const] : []),
    ],
  };
}
