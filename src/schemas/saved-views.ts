import * as v from "valibot";
import { Flag, Name, Text, Time } from "./control.ts";
import { changesOf, closedObject, IsoTime, listOf } from "./objects.ts";

/** Pages of the console that ask a question of the log. */
export const viewPages = ["logs", "analytics", "sessions"] as const;

const ranges = ["1h", "24h", "7d", "30d", "month"] as const;
const figures = ["requests", "error_count", "cost", "total_tokens", "cache_hits"] as const;
const orders = ["asc", "desc"] as const;

/** A time of a body, stored as it is shown. */
const GivenTime = v.pipe(
  Time,
  v.transform((time) => new Date(time).toISOString()),
);

/** Two ends of a range; one of them may be open. */
const FixedRange = v.pipe(
  closedObject({ from: v.optional(GivenTime), to: v.optional(GivenTime) }),
  v.check(
    ({ from, to }) => (from ?? to) !== undefined && (from === undefined || to === undefined || from < to),
    "must have from or to, and from before to",
  ),
);

/** A column that is shown. Its width is in rem. */
const Column = closedObject({
  name: Text(128),
  width: v.optional(v.pipe(v.number("must be a number"), v.minValue(3, "must be at least 3"), v.maxValue(40))),
});

/** What a page is asked for. */
const Question = closedObject({
  /** Filters of `GET /logs` by their names. */
  filters: v.optional(v.pipe(v.record(Text(160), Text(4_096)), v.maxEntries(50, "must have at most 50 filters"))),
  /** A range up to now by its length, or its two ends. */
  range: v.optional(v.union([v.picklist(ranges), FixedRange], `must be one of ${ranges.join(", ")}, or from and to`)),
  /** What analytics group by: `model`, `metadata/team`. */
  group: v.optional(Text(160)),
  /** What they show over time. */
  figure: v.optional(v.picklist(figures, `must be one of ${figures.join(", ")}`)),
  /** The graph above: `errors/rate`. */
  chart: v.optional(Text(64)),
  running_sum: v.optional(Flag),
  range_before: v.optional(Flag),
  order_by: v.optional(Text(64)),
  order: v.optional(v.picklist(orders, "must be asc or desc")),
  /** Columns in their order. Absent: those of the page. */
  columns: v.optional(v.pipe(v.array(Column), v.maxLength(60, "must have at most 60 columns"))),
});
export type ViewQuestion = v.InferOutput<typeof Question>;

const given = {
  name: Name,
  question: Question,
  /** Everybody in the workspace sees it. */
  shared: Flag,
  /** The overview shows its chart. */
  pinned: Flag,
};

/** Body of `POST /saved-views`. */
export const CreateSavedView = closedObject({
  name: given.name,
  page: v.picklist(viewPages, `must be one of ${viewPages.join(", ")}`),
  question: given.question,
  shared: v.optional(given.shared),
  pinned: v.optional(given.pinned),
  workspace_id: v.optional(v.string()),
});
export type CreateSavedView = v.InferOutput<typeof CreateSavedView>;

/** Body of `PUT /saved-views/{id}`. */
export const UpdateSavedView = changesOf({
  ...v.partial(v.object(given)).entries,
  workspace_id: v.optional(v.string()),
});
export type UpdateSavedView = v.InferOutput<typeof UpdateSavedView>;

/** Response of a change. */
export const SavedViewReceipt = v.object({ id: v.string(), object: v.literal("saved_view") });

/** A question in responses. A later version may know more. */
const ShownQuestion = v.looseObject({
  filters: v.optional(v.record(v.string(), v.string())),
  range: v.optional(
    v.union([v.picklist(ranges), v.object({ from: v.optional(v.string()), to: v.optional(v.string()) })]),
  ),
  group: v.optional(v.string()),
  figure: v.optional(v.string()),
  chart: v.optional(v.string()),
  running_sum: v.optional(v.boolean()),
  range_before: v.optional(v.boolean()),
  order_by: v.optional(v.string()),
  order: v.optional(v.picklist(orders)),
  columns: v.optional(v.array(v.object({ name: v.string(), width: v.optional(v.number()) }))),
});

export const SavedView = v.object({
  id: v.string(),
  object: v.literal("saved_view"),
  workspace_id: v.string(),
  name: v.string(),
  page: v.picklist(viewPages),
  question: ShownQuestion,
  shared: v.boolean(),
  pinned: v.boolean(),
  /** Whether the page opens with it for the caller. */
  is_default: v.boolean(),
  /** The user, or else the key. */
  created_by: v.string(),
  created_at: IsoTime,
  last_updated_at: IsoTime,
});

export const SavedViewList = listOf(SavedView);
