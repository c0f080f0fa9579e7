import type { FieldName, NumberFieldName } from "../index/fields.ts";
import { GroupedNumbers, meanOf, type Pause, percentilesOf } from "../index/measures.ts";
import type { RowBlock } from "../index/row-block.ts";
import { noTrace, type Ratings } from "./ratings.ts";
import { cacheHitsOf, failuresOf, type Places, rateOf, Sums, toCents } from "./sums.ts";
import { feedbackFields } from "./trace-feedback.ts";

/** A figure of a group in the response. */
export type Figure = number | string | null;

/** Everything that columns are computed from; what no wanted column needs stays empty. */
class Tallies {
  readonly requests = new Sums();
  readonly errors = new Sums();
  readonly cacheHits = new Sums();
  readonly sums: Readonly<Record<"cost" | "totalTokens" | "inputTokens" | "outputTokens" | "duration", Sums>> = {
    cost: new Sums(),
    totalTokens: new Sums(),
    inputTokens: new Sums(),
    outputTokens: new Sums(),
    duration: new Sums(),
  };
  readonly durations = new GroupedNumbers();
  readonly firstTokens = new GroupedNumbers();
  /** The durations of a group, and its times to the first token, once they are collected. */
  durationsOf: (group: number) => Float64Array = () => new Float64Array();
  firstTokensOf: (group: number) => Float64Array = () => new Float64Array();
  /** Percentiles of groups that were asked for. */
  readonly percentiles = new Map<number, readonly (number | null)[]>();
  /** Unix milliseconds. */
  readonly first = new Sums();
  readonly last = new Sums();
  readonly rated = new Sums();
  /** Traces of each group that have feedback: it counts once in each, however many requests they have. */
  readonly traces: Set<number>[] = [];
  readonly ratings = new Sums();
  readonly weighted = new Sums();
  readonly pause: Pause;

  constructor(pause: Pause) {
    this.pause = pause;
  }
}

type AddRows = (tallies: Tallies, block: RowBlock, places: Places, groups: number) => void;

/** Parts of the work for a block. Columns name those they need. */
const steps = {
  errors({ errors }, block, places, groups) {
    errors.reserve(groups);
    errors.countRows(places, failuresOf(block));
  },
  cacheHits({ cacheHits }, block, places, groups) {
    cacheHits.reserve(groups);
    cacheHits.countRows(places, cacheHitsOf(block).any);
  },
  cost: sumOf("cost"),
  totalTokens: sumOf("totalTokens"),
  inputTokens: sumOf("inputTokens"),
  outputTokens: sumOf("outputTokens"),
  duration: sumOf("duration"),
  durations({ durations }, block, places) {
    durations.add(places, block.numbers("duration"));
  },
  firstTokens({ firstTokens }, block, places) {
    const [streams, times] = [block.numbers("stream"), block.numbers("firstByte")];
    const isTimed = (row: number) => streams[row] === 1 && !Number.isNaN(times[row]);
    const rows = Array.from(places.keys()).filter(isTimed);
    firstTokens.add(
      Uint32Array.from(rows, (row) => places[row] ?? 0),
      Float64Array.from(rows, (row) => times[row] ?? 0),
    );
  },
  times({ first, last }, block, places, groups) {
    first.reserve(groups);
    last.reserve(groups);
    first.keepLeast(places, block.numbers("time"));
    last.keepMost(places, block.numbers("time"));
  },
} satisfies Readonly<Record<string, AddRows>>;

function sumOf(field: keyof Tallies["sums"] & NumberFieldName): AddRows {
  return ({ sums }, block, places, groups) => {
    sums[field].reserve(groups);
    sums[field].addRows(places, block.numbers(field));
  };
}

const fieldsOf: Readonly<Record<keyof typeof steps, readonly FieldName[]>> = {
  errors: ["status"],
  cacheHits: ["cacheStatus"],
  cost: ["cost"],
  totalTokens: ["totalTokens"],
  inputTokens: ["inputTokens"],
  outputTokens: ["outputTokens"],
  duration: ["duration"],
  durations: ["duration"],
  firstTokens: ["stream", "firstByte"],
  times: ["time"],
};

/** A column of groups. */
interface GroupColumn {
  readonly steps: readonly (keyof typeof steps)[];
  of(tallies: Tallies, group: number): Figure | Promise<Figure>;
  /** The number by which groups are ordered where the column shows a string. */
  order?(tallies: Tallies, group: number): number;
}

const meanColumn = (step: keyof Tallies["sums"]): GroupColumn => ({
  steps: [step],
  of: ({ sums, requests }, group) => meanOf(sums[step].at(group), requests.at(group)),
});

const percentileParts = [0.95, 0.99];

const percentileColumn = (part: 0 | 1): GroupColumn => ({
  steps: ["durations"],
  async of({ durationsOf, percentiles, pause }, group) {
    const known = percentiles.get(group) ?? (await percentilesOf(durationsOf(group), percentileParts, pause));
    percentiles.set(group, known);
    return known[part] ?? null;
  },
});

const timeColumn = (name: "first" | "last"): GroupColumn => ({
  steps: ["times"],
  of: (tallies, group) => new Date(tallies[name].at(group)).toISOString(),
  order: (tallies, group) => tallies[name].at(group),
});

/** Every column besides the group's value, and `requests`, which is always there. */
export const groupColumns = {
  cost: { steps: ["cost"], of: ({ sums }, group) => toCents(sums.cost.at(group)) },
  total_tokens: { steps: ["totalTokens"], of: ({ sums }, group) => sums.totalTokens.at(group) },
  avg_tokens: meanColumn("totalTokens"),
  avg_input_tokens: meanColumn("inputTokens"),
  avg_output_tokens: meanColumn("outputTokens"),
  avg_latency: meanColumn("duration"),
  p95_latency: percentileColumn(0),
  p99_latency: percentileColumn(1),
  p95_first_token: {
    steps: ["firstTokens"],
    async of({ firstTokensOf, pause }, group) {
      const [p95] = await percentilesOf(firstTokensOf(group), [0.95], pause);
      return p95 ?? null;
    },
  },
  success_rate: {
    steps: ["errors"],
    of: ({ errors, requests }, group) => rateOf(requests.at(group) - errors.at(group), requests.at(group)),
  },
  error_count: { steps: ["errors"], of: ({ errors }, group) => errors.at(group) },
  cache_hit_rate: {
    steps: ["cacheHits"],
    of: ({ cacheHits, requests }, group) => rateOf(cacheHits.at(group), requests.at(group)),
  },
  last_seen: timeColumn("last"),
  first_seen: timeColumn("first"),
  avg_weighted_feedback: {
    steps: [],
    of: ({ ratings, weighted }, group) => (ratings.at(group) === 0 ? null : weighted.at(group) / ratings.at(group)),
  },
  requests_with_feedback: { steps: [], of: ({ rated }, group) => rated.at(group) },
} as const satisfies Readonly<Record<string, GroupColumn>>;

/** Name of a column. */
export type GroupColumnName = keyof typeof groupColumns;

const columnOf = (name: GroupColumnName): GroupColumn => groupColumns[name];

/** Fields that a column is computed from. */
export const fieldsOfColumn = (name: GroupColumnName): FieldName[] =>
  columnOf(name).steps.flatMap((step) => fieldsOf[step]);

/** Prepares the figures of all groups, once all rows were added. */
export async function collectFigures(tallies: Tallies, groups: number): Promise<void> {
  const { of } = await tallies.durations.collect(groups, tallies.pause);
  tallies.durationsOf = of;
  tallies.firstTokensOf = (await tallies.firstTokens.collect(groups, tallies.pause)).of;
}

/** Columns of feedback, which are there where they are asked for. */
export const feedbackColumns: readonly GroupColumnName[] = ["avg_weighted_feedback", "requests_with_feedback"];

/** Whether any of the columns is computed from feedback. */
export function needFeedback(columns: readonly GroupColumnName[]): boolean {
  return columns.some((name) => feedbackColumns.includes(name));
}

/** What is known of the rows that are added. */
interface AddedRows {
  readonly places: Places;
  /** How many groups there are. */
  readonly groups: number;
  /** They are parts of other rows. */
  readonly isPart: boolean;
}

/** Steps to which parts of other rows add. */
const stepsOfParts: ReadonlySet<keyof typeof steps> = new Set([
  "cost",
  "totalTokens",
  "inputTokens",
  "outputTokens",
  "times",
]);

/** What columns are computed from, and the fields that takes. */
export function createMeasures(columns: readonly GroupColumnName[], feedback: Ratings | undefined, pause: Pause) {
  const wanted = [...new Set(columns.flatMap((name) => columnOf(name).steps))];
  const tallies = new Tallies(pause);
  const fields = wanted.flatMap((step) => fieldsOf[step]);
  return {
    tallies,
    fields: feedback ? [...fields, ...feedbackFields] : fields,
    add(block: RowBlock, { places, groups, isPart }: AddedRows): void {
      tallies.requests.reserve(groups);
      if (!isPart) tallies.requests.countRows(places);
      for (const step of wanted) {
        if (!isPart || stepsOfParts.has(step)) steps[step](tallies, block, places, groups);
      }
      if (feedback && !isPart) addFeedback(tallies, block, { places, groups, feedback });
    },
  };
}

function addFeedback(
  tallies: Tallies,
  block: RowBlock,
  { places, groups, feedback }: { places: Places; groups: number; feedback: Ratings },
): void {
  const { rated, traces, ratings, weighted } = tallies;
  for (const sums of [rated, ratings, weighted]) sums.reserve(groups);
  const traceOf = feedback.of(block);
  for (let row = 0; row < places.length; row++) {
    const trace = traceOf(row);
    if (trace === noTrace) continue;
    const place = places[row] ?? 0;
    rated.add(place, 1);
    const found = traces[place] ?? new Set<number>();
    if (found.has(trace)) continue;
    traces[place] = found.add(trace);
    ratings.add(place, feedback.countOf(trace));
    weighted.add(place, feedback.weightedOf(trace));
  }
}

/** What groups are ordered by in a column. */
export function orderOf(tallies: Tallies, name: GroupColumnName | "requests", group: number): Figure | Promise<Figure> {
  const order = name === "requests" ? undefined : columnOf(name).order;
  return order ? order(tallies, group) : figureOf(tallies, name, group);
}

/** A column of one group. */
export function figureOf(
  tallies: Tallies,
  name: GroupColumnName | "requests",
  group: number,
): Figure | Promise<Figure> {
  return name === "requests" ? tallies.requests.at(group) : columnOf(name).of(tallies, group);
}
