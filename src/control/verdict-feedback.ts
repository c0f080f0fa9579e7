import type { FeedbackStore } from "../db/stores/feedback.ts";
import type { JsonValue } from "../db/tables/columns.ts";
import type { FeedbackRow } from "../db/tables/feedback.ts";
import type { Clock } from "../lib/clock.ts";
import type { HookResult } from "../schemas/hooks.ts";

/** Whose request the guardrails judged. */
interface JudgedRequest {
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly apiKeyId: string;
  readonly traceId: string;
}

/** Stores the feedback of guardrails on traces, in the background. */
export interface VerdictFeedback {
  /** Never fails, and is not awaited. */
  add(request: JudgedRequest, results: readonly HookResult[]): void;
  /** Stores what waits. */
  close(): Promise<void>;
}

/** Most rows that wait; further ones are dropped. */
const mostWaiting = 10_000;
const rowsPerWrite = 64;
const writeEveryMs = 500;
/** Longest name and value of metadata. */
const maxMetadataLength = 128;

function toMetadata(metadata: unknown): Record<string, JsonValue> {
  if (typeof metadata !== "object" || metadata === null) return {};
  const pairs = Object.entries(metadata).map(([name, value]): [string, string] => {
    const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
    return [name.slice(0, maxMetadataLength), text.slice(0, maxMetadataLength)];
  });
  return Object.fromEntries(pairs);
}

/** The row of a verdict's feedback; undefined where it has none. */
function toRow(request: JudgedRequest, { feedback }: HookResult, now: number): FeedbackRow | undefined {
  if (!feedback || typeof feedback.value !== "number") return undefined;
  const weight = typeof feedback.weight === "number" ? feedback.weight : 1;
  return {
    id: crypto.randomUUID(),
    ...request,
    value: Math.round(feedback.value),
    weight,
    metadata: toMetadata(feedback.metadata),
    createdAt: now,
    lastUpdatedAt: 0,
  };
}

/** Creates what stores the feedback of verdicts. */
export function createVerdictFeedback(
  store: Pick<FeedbackStore, "add">,
  { clock, warn }: { clock: Clock; warn: (message: string, error?: unknown) => void },
): VerdictFeedback {
  const waiting: FeedbackRow[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<void> | undefined;
  let dropped = 0;

  const writeAll = async () => {
    while (waiting.length > 0) {
      const [first] = waiting;
      const { organisationId = "", workspaceId = "" } = first ?? {};
      const isNext = (row: FeedbackRow) => row.organisationId === organisationId && row.workspaceId === workspaceId;
      const end = waiting.findIndex((row) => !isNext(row));
      const rows = waiting.splice(0, Math.min(rowsPerWrite, end < 0 ? waiting.length : end));
      await store.add({ organisationId, workspaceId }, rows).catch((error: unknown) => {
        warn("Cannot store the feedback of guardrails", error);
      });
    }
    if (dropped > 0) warn(`Dropped the feedback of ${dropped} verdicts of guardrails: too many were waiting`);
    dropped = 0;
  };
  const write = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    writing ??= writeAll().finally(() => {
      writing = undefined;
    });
    return writing;
  };

  return {
    add(request, results) {
      for (const result of results) {
        const row = toRow(request, result, clock.now());
        if (!row) continue;
        if (waiting.length < mostWaiting) waiting.push(row);
        else dropped++;
      }
      if (waiting.length > 0) timer ??= setTimeout(() => void write(), writeEveryMs);
    },
    async close() {
      await write();
      if (waiting.length > 0) await write();
    },
  };
}
