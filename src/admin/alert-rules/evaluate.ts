import * as v from "valibot";
import type { Services } from "../../context.ts";
import type { Evaluation } from "../../db/stores/alert-rules.ts";
import type { AlertEventRow, AlertRuleRow } from "../../db/tables/alert-rules.ts";
import { parseJson } from "../../lib/json.ts";
import type { FieldName } from "../../logs/index/fields.ts";
import type { AlertMetric } from "../../schemas/alert-rules.ts";
import { refuseField } from "../core/request.ts";
import { countedSources, idsBetween, type RowChoice, readRowChoice, sharedFilters } from "../core/row-filters.ts";

/** A rule is evaluated so often, in milliseconds. */
const everyMs = 60_000;

const hourMs = 3_600_000;

const Figures = v.object({
  summary: v.object({
    requests: v.number(),
    error_count: v.number(),
    cost: v.number(),
    p95_latency: v.number(),
  }),
});
type Figures = v.InferOutput<typeof Figures>["summary"];

/** Fields of the index that each metric reveals something of. */
export const fieldsOfMetric: Readonly<Record<AlertMetric, readonly FieldName[]>> = {
  error_rate: ["status"],
  p95_latency: ["duration"],
  spend_per_hour: ["cost"],
  requests: [],
};

/**
 * The rows that the filter of a rule chooses, except those of console sessions and checks unless it names sources.
 *
 * @throws {InvalidRequestError} AB01, naming the filter.
 */
export function readFilter(filter: Readonly<Record<string, string>>): RowChoice {
  for (const name of Object.keys(filter)) {
    if (!Object.hasOwn(sharedFilters, name)) refuseField(name, "is not a filter of analytics");
  }
  return readRowChoice(new URLSearchParams({ source: countedSources, ...filter }));
}

/** The figure of a rule; null with too few requests to say. */
function figureOf({ metric, windowSeconds, minRequests }: AlertRuleRow, figures: Figures): number | null {
  const { requests, error_count: errors, cost, p95_latency: p95 } = figures;
  if (metric === "requests") return requests;
  if (metric === "spend_per_hour") return (cost / 100) * (hourMs / (windowSeconds * 1_000));
  if (requests < minRequests) return null;
  return metric === "error_rate" ? (100 * errors) / requests : p95;
}

type EventDraft = Omit<AlertEventRow, "leaseOwner" | "leaseUntil">;

/** What an evaluation changes, with the event that it sends. */
interface Decision {
  readonly found: Evaluation;
  readonly event: EventDraft | undefined;
}

function decide(row: AlertRuleRow, figures: Figures, now: number): Decision {
  const value = figureOf(row, figures);
  const isOver = value !== null && (row.metric === "requests" ? value < row.threshold : value >= row.threshold);
  const state = value === null ? "no_data" : isOver ? "firing" : "ok";
  const isQuiet = row.lastFiredAt !== null && now - row.lastFiredAt < row.cooldownSeconds * 1_000;
  const type = state === "firing" && !isQuiet ? "firing" : state === "ok" && row.isOpen ? "resolved" : undefined;
  const found = {
    state,
    value,
    requests: figures.requests,
    evaluatedAt: now,
    lastFiredAt: type === "firing" ? now : row.lastFiredAt,
    isOpen: type === undefined ? row.isOpen : type === "firing",
    nextEvaluationAt: now + everyMs,
  } as const;
  return { found, event: type && toEvent({ ...row, ...found }, type, now) };
}

/** An event of a rule that is to be delivered. */
export function toEvent(row: AlertRuleRow, type: AlertEventRow["type"], now: number): EventDraft {
  const { organisationId, workspaceId, id: ruleId, name, metric, threshold, windowSeconds, value, requests } = row;
  const rule = { organisationId, workspaceId, ruleId, name, metric, threshold, windowSeconds };
  const delivery = { sent: [], problem: null, attempts: 0, nextAttemptAt: row.destinations.length > 0 ? now : null };
  const figures = type === "test" ? { value: null, requests: null } : { value, requests };
  return { id: crypto.randomUUID(), type, ...rule, ...figures, ...delivery, createdAt: now };
}

/** Looks at the requests in the window of a rule: one pass over the index. */
export async function evaluateRule(
  row: AlertRuleRow,
  { logReader, clock }: Pick<Services, "logReader" | "clock">,
): Promise<Decision> {
  const to = clock.now();
  const from = to - row.windowSeconds * 1_000;
  const { organisationId, workspaceId } = row;
  const choice = { ...idsBetween({ from, to }), ...readFilter(row.filter) };
  const scope = { organisationId, workspaceId };
  const text = await logReader.periodSummary({ ...choice, scope, from, to, denied: new Set() });
  return decide(row, v.parse(Figures, parseJson(text)).summary, to);
}
