import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { call } from "@/api/client.ts";
import { formatDuration, formatNumber } from "@/lib/format.ts";
import { periodQuery, readPeriod } from "@/lib/period.ts";
import { type Row, readList, readPath, readText } from "@/lib/read.ts";
import { useLogScope } from "@/pages/overview/data.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import type { ActionResult } from "./types.ts";

const words = text.resources.providers;

/** What the log says of the providers of a workspace in the last hour; read once for all rows of a list. */
function useHealth() {
  const { can } = useSession();
  const scope = useLogScope();
  return useQuery({
    queryKey: ["providers", "health", scope],
    enabled: can("GET /v1/analytics/groups/provider"),
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const lastHour = periodQuery(readPeriod({ range: "1h" }, Date.now()));
      const query = { ...lastHour, ...scope, columns: "requests,error_count", page_size: 100 };
      return readList(await call("GET", "/v1/analytics/groups/provider", { query, signal }));
    },
  });
}

function Health({ slug }: { readonly slug: string }): ReactNode {
  const { data } = useHealth();
  if (data === undefined) return "—";
  const row = data.find((one) => readText(one, "provider") === slug);
  if (row === undefined) return words.unused;
  const [requests, errors] = [Number(row.requests ?? 0), Number(row.error_count ?? 0)];
  const said = words.health(formatNumber(requests), requests, formatNumber(errors), errors);
  return errors === 0 ? (
    said
  ) : (
    <Link to="/logs" search={{ range: "1h", virtual_key: slug }}>
      {said}
    </Link>
  );
}

/** Requests and errors of the last hour. */
export const healthOf = (row: Row): ReactNode => <Health slug={readText(row, "slug")} />;

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
