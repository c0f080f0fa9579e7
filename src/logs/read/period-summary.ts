import { type DeniedFields, deniedFilter } from "../denied-fields.ts";
import type { FieldName } from "../index/fields.ts";
import { GroupedNumbers, meanOf, type Pause, percentilesOf } from "../index/measures.ts";
import type { RowBlock } from "../index/row-block.ts";
import { cacheHitsOf, failuresOf, type Places, Sums, toCents } from "./sums.ts";

/** Figures of a period or a point by their names in the response. */
type PeriodFigures = Readonly<Record<string, number>>;

/** How a figure is added up, and how it is shown. */
interface Tally {
  readonly fields: readonly FieldName[];
  /** Parts of other rows count too. */
  readonly addsParts?: boolean;
  start(places: number): {
    add(block: RowBlock, places: Places): void;
    /** Figures of the places from `first` to before `end`. */
    show(first: number, end: number): PeriodFigures | Promise<PeriodFigures>;
  };
}

function totalOf(sums: Sums, first: number, end: number): number {
  let total = 0;
  for (let place = first; place < end; place++) total += sums.at(place);
  return total;
}

/** A figure that is a sum over rows. */
export interface FigureSum {
  readonly fields: readonly FieldName[];
  /** Parts of other rows count too. */
  readonly addsParts?: boolean;
  add(sums: Sums, block: RowBlock, places: Places): void;
  round?(sum: number): number;
}

/** Figures that can be added up: over time, over groups, over both. */
export const figureSums = {
  requests: { fields: [], add: (sums, _, places) => sums.countRows(places) },
  error_count: { fields: ["status"], add: (sums, block, places) => sums.countRows(places, failuresOf(block)) },
  cost: {
    fields: ["cost"],
    addsParts: true,
    add: (sums, block, places) => sums.addRows(places, block.numbers("cost")),
    round: toCents,
  },
  total_tokens: {
    fields: ["totalTokens"],
    addsParts: true,
    add: (sums, block, places) => sums.addRows(places, block.numbers("totalTokens")),
  },
  cache_hits: { fields: ["cacheStatus"], add: (sums, block, places) => sums.countRows(places, cacheHitsOf(block).any) },
} as const satisfies Readonly<Record<string, FigureSum>>;

export type SummedFigure = keyof typeof figureSums;

function sumTally([name, figure]: [string, FigureSum]): Tally {
  const { fields, addsParts = false, round = (sum: number) => sum } = figure;
  return {
    fields,
    addsParts,
    start(places: number) {
      const sums = new Sums(places);
      return {
        add: (block: RowBlock, at: Places) => figure.add(sums, block, at),
        show: (first: number, end: number) => ({ [name]: round(totalOf(sums, first, end)) }),
      };
    },
  };
}

function latencyTally(pause: Pause): Tally {
  return {
    fields: ["duration"],
    start(places) {
      const [durations, sums] = [new GroupedNumbers(), new Sums(places)];
      let collected: ReturnType<GroupedNumbers["collect"]> | undefined;
      return {
        add(block, at) {
          const values = block.numbers("duration");
          durations.add(at, values);
          sums.addRows(at, values);
        },
        async show(first, end) {
          collected ??= durations.collect(places, pause);
          const { all, of } = await collected;
          // the numbers of places that follow each other stand next to each other
          const [start, last] = [of(first), of(end - 1)];
          const size = all.BYTES_PER_ELEMENT;
          const values = all.subarray(start.byteOffset / size, last.byteOffset / size + last.length);
          const [p50, p95, p99] = await percentilesOf(values, [0.5, 0.95, 0.99], pause);
          return {
            avg_latency: meanOf(totalOf(sums, first, end), values.length),
            p50_latency: p50 ?? 0,
            p95_latency: p95 ?? 0,
            p99_latency: p99 ?? 0,
          };
        },
      };
    },
  };
}

const talliesOf = (pause: Pause): readonly Tally[] => [
  ...Object.entries(figureSums).map(sumTally),
  latencyTally(pause),
];

/** The figures of a period over time and in all, beside those of the period before. Denied figures are left out. */
export class PeriodSummary {
  readonly fields: readonly FieldName[];
  readonly #points: number;
  readonly #runs: readonly (ReturnType<Tally["start"]> & { addsParts: boolean })[];

  /** @param points Points of the period; the place behind them is that of the period before. */
  constructor(points: number, denied: DeniedFields, pause: Pause) {
    const shown = talliesOf(pause).filter(({ fields }) =>
      fields.every((field) => deniedFilter(field, denied) === undefined),
    );
    this.#points = points;
    this.fields = shown.flatMap(({ fields }) => fields);
    this.#runs = shown.map(({ start, addsParts = false }) => ({ ...start(points + 1), addsParts }));
  }

  add(block: RowBlock, places: Places, isPart: boolean): void {
    for (const run of this.#runs) if (!isPart || run.addsParts) run.add(block, places);
  }

  async #show(first: number, end: number): Promise<PeriodFigures> {
    const figures: Record<string, number> = {};
    for (const run of this.#runs) Object.assign(figures, await run.show(first, end));
    return figures;
  }

  async finish(): Promise<{ summary: PeriodFigures; former: PeriodFigures; points: readonly PeriodFigures[] }> {
    const points: PeriodFigures[] = [];
    for (let at = 0; at < this.#points; at++) points.push(await this.#show(at, at + 1));
    return {
      summary: await this.#show(0, this.#points),
      former: await this.#show(this.#points, this.#points + 1),
      points,
    };
  }
}
