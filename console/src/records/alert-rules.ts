import type { AnswerOf } from "@/api/client.ts";
import { formatDollars, formatDuration, formatNumber, formatShare } from "@/lib/format.ts";
import { wordOf } from "@/lib/words.ts";
import { action, defineResource } from "@/resources/define.ts";
import { changedFact, choices, nameField, numbered } from "@/resources/options.ts";
import type { Field, RowIn } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

type Rule = RowIn<AnswerOf<"GET /v1/alert-rules">>;

const words = text.resources.alertRules;
const fields = text.resources.fields;

/** A figure as its metric counts it: a part, a time, dollars or a number. */
function inUnits(metric: Rule["metric"], value: number | null): string {
  if (value === null) return "—";
  if (metric === "error_rate") return formatShare(value / 100);
  if (metric === "p95_latency") return formatDuration(value);
  return metric === "spend_per_hour" ? formatDollars(value) : formatNumber(value);
}

const showValue = ({ metric, value }: Rule): string => inUnits(metric, value);
const showBound = ({ metric, threshold }: Rule): string =>
  words.bounds({ value: inUnits(metric, threshold), isLeast: metric === "requests" });

const members = [
  nameField,
  {
    name: "metric",
    label: words.metric,
    kind: "select",
    required: true,
    initial: "error_rate",
    options: choices("error_rate", "p95_latency", "spend_per_hour", "requests"),
  },
  { name: "threshold", label: words.threshold, help: words.thresholdHelp, kind: "number", required: true },
  { name: "window_seconds", label: words.window, kind: "duration", initial: 900 },
  { name: "min_requests", label: words.minRequests, help: words.minRequestsHelp, kind: "number", initial: 10 },
  { name: "cooldown_seconds", label: words.cooldown, help: words.cooldownHelp, kind: "duration", initial: 3_600 },
  { name: "filter", label: words.filter, help: words.filterHelp, kind: "pairs" },
  {
    name: "destinations",
    label: words.destinations,
    help: words.destinationsHelp,
    kind: "json",
    required: true,
    initial: [],
  },
  { name: "enabled", label: words.enabled, kind: "switch", initial: true },
] as const satisfies readonly Field[];

/** Rules on requests: `/v1/alert-rules`. */
export const alertRules = defineResource({
  name: "alert-rules",
  text: { ...words, emptyHint: words.empty },
  workspace: "required",
  list: { path: "/v1/alert-rules", paging: numbered },
  id: ({ id }) => id,
  title: ({ name }) => name,
  columns: [
    { label: fields.name, of: ({ name }) => name, track: "minmax(10rem, 2fr)" },
    { label: words.state, of: ({ state }) => state, kind: "status", track: "6rem" },
    { label: words.metric, of: ({ metric }) => metric, kind: "word", track: "9rem", wide: true },
    { label: words.value, of: ({ value }) => value, track: "7rem", render: showValue },
    { label: words.threshold, of: ({ threshold }) => threshold, track: "9rem", wide: true, render: showBound },
    { label: words.lastFired, of: (row) => row.last_fired_at, kind: "ago", track: "8rem", wide: true },
  ],
  facts: [
    { label: words.state, of: ({ state }) => state, kind: "status" },
    { label: words.metric, of: ({ metric }) => wordOf(metric) },
    { label: words.value, of: ({ value }) => value, render: showValue },
    { label: words.threshold, of: ({ threshold }) => threshold, render: showBound },
    { label: words.requests, of: ({ requests }) => requests, kind: "number" },
    {
      label: words.window,
      of: (row) => row.window_seconds,
      render: (row) => formatDuration(row.window_seconds * 1000),
    },
    { label: words.minRequests, of: (row) => row.min_requests, kind: "number" },
    {
      label: words.cooldown,
      of: (row) => row.cooldown_seconds,
      render: (row) => formatDuration(row.cooldown_seconds * 1000),
    },
    { label: words.filter, of: ({ filter }) => filter, kind: "json", empty: fields.none },
    { label: words.destinations, of: ({ destinations }) => destinations, kind: "json", empty: fields.none },
    { label: words.enabled, of: ({ enabled }) => enabled, kind: "boolean" },
    { label: words.evaluated, of: (row) => row.evaluated_at, kind: "ago" },
    { label: words.lastFired, of: (row) => row.last_fired_at, kind: "time", empty: fields.never },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "time" },
    changedFact,
  ],
  read: "/v1/alert-rules/{id}",
  create: { rows: ["POST /v1/alert-rules"], made: ({ id }) => id, fields: members },
  update: { rows: ["PUT /v1/alert-rules/{id}"], fields: members },
  remove: { row: "DELETE /v1/alert-rules/{id}" },
  actions: [
    action({
      label: words.test,
      icon: "check",
      row: "POST /v1/alert-rules/{id}/test",
      done: () => ({ message: words.tested }),
    }),
  ],
  sections: [
    {
      title: words.events,
      row: "GET /v1/alert-rules/{id}/events",
      load: () => import("@/resources/sections/alert-events.tsx"),
    },
  ],
});
