import { listLogs, type ShownLog, type TestGateway, workspaceKey } from "./gateway.ts";

/** A target a config had tried, as the log shows it. */
export interface LoggedAttempt {
  label: string;
  provider: string | null;
  model: string | null;
  status: number;
  duration_ms: number;
  retries: number;
}

/** A log row of a request that followed a config. */
export interface RoutedLog extends ShownLog {
  config?: string | null;
  attempts?: LoggedAttempt[];
  skipped?: string[];
}

/** Waits until there are so many rows and gives all of them by their trace. */
export async function collectLogs(
  gateway: Pick<TestGateway, "gateway">,
  count: number,
  key: string = workspaceKey,
): Promise<Map<string, RoutedLog[]>> {
  const until = performance.now() + 20_000;
  for (;;) {
    const rows: RoutedLog[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page = await listLogs(
        gateway,
        `limit=100${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
        key,
      );
      rows.push(...page.data);
      cursor = page.next_cursor;
    }
    if (rows.length >= count || performance.now() > until) return Map.groupBy(rows, (row) => row.trace_id);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
