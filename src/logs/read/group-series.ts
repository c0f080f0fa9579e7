import type { FieldName } from "../index/fields.ts";
import { pointsBetween, startOfPoint, widthOf } from "../index/measures.ts";
import type { RowBlock } from "../index/row-block.ts";
import { type GroupField, groupPlacesOf, groupValue } from "./groups.ts";
import { Interned } from "./interned.ts";
import { type FigureSum, figureSums, type SummedFigure } from "./period-summary.ts";
import { Sums } from "./sums.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** What a series of groups is made of. */
export interface SeriesOptions {
  readonly figure: SummedFigure;
  /** Groups with separate points; the others are added up. */
  readonly top: number;
  readonly field: GroupField;
  /** Name of a group's value in the response. */
  readonly value: string;
  /** What the response shows for the value of a group instead. */
  readonly names?: ReadonlyMap<string, string>;
  /** Unix milliseconds, both inclusive. */
  readonly from: number;
  readonly to: number;
}

/** Fields that a series reveals something of. */
export const fieldsOfSeries = ({ figure, field }: Pick<SeriesOptions, "figure" | "field">): FieldName[] => [
  field,
  ...figureSums[figure].fields,
];

/** Times of a period as places: those of its points, then those of the points of the period before. */
class PeriodPlaces {
  readonly starts: readonly number[];
  readonly #from: number;
  readonly #first: number;
  readonly #width: number;
  readonly #span: number;

  constructor({ from, to }: { readonly from: number; readonly to: number }) {
    this.#width = widthOf(from, to);
    this.starts = pointsBetween(from, to, this.#width);
    this.#from = from;
    this.#first = startOfPoint(from, this.#width);
    this.#span = to - from + 1;
  }

  get count(): number {
    return 2 * this.starts.length;
  }

  isFormer(time: number): boolean {
    return time < this.#from;
  }

  placeOf(time: number): number {
    const { length } = this.starts;
    const [moved, offset] = this.isFormer(time) ? [time + this.#span, length] : [time, 0];
    return offset + Math.min(length - 1, Math.max(0, Math.floor((moved - this.#first) / this.#width)));
  }
}

/** A group in the response, beside its value. */
interface GroupPoints {
  readonly total: number;
  readonly former: number;
  readonly points: readonly number[];
}

/**
 * A figure by group over time, for the groups with most of it. Two passes: the first finds these groups, so that what is held
 * in memory does not grow with groups times points.
 */
export class GroupSeries {
  readonly #options: SeriesOptions;
  readonly #sum: FigureSum;
  readonly #groups: Interned;
  readonly #totals = new Sums();
  readonly #places: PeriodPlaces;
  /** Place of the groups with separate points, by their place among all. */
  readonly #chosen = new Map<number, number>();
  #points = new Sums();

  constructor(options: SeriesOptions, vocabulary: Vocabulary) {
    this.#options = options;
    this.#sum = figureSums[options.figure];
    this.#groups = new Interned(vocabulary);
    this.#places = new PeriodPlaces(options);
  }

  get fields(): FieldName[] {
    return ["time", ...fieldsOfSeries(this.#options)];
  }

  /** Adds rows to the totals of groups: the first pass. */
  addTotals(block: RowBlock, isPart: boolean): void {
    if (isPart && !this.#sum.addsParts) return;
    const times = block.numbers("time");
    const rows = block.pick((row) => !this.#places.isFormer(times[row] ?? 0));
    const places = groupPlacesOf(this.#groups, rows, this.#options.field);
    this.#totals.reserve(this.#groups.size);
    this.#sum.add(this.#totals, rows, places);
  }

  /** Ends the first pass. */
  choose(): void {
    const groups = Array.from({ length: this.#groups.size }, (_, group) => group);
    const most = groups
      .toSorted((a, b) => this.#totals.at(b) - this.#totals.at(a) || (this.#groups.at(a) < this.#groups.at(b) ? -1 : 1))
      .slice(0, this.#options.top);
    for (const [place, group] of most.entries()) this.#chosen.set(group, place);
    this.#points = new Sums((most.length + 1) * this.#places.count);
  }

  /** Adds rows to the points of groups: the second pass. */
  add(block: RowBlock, isPart: boolean): void {
    if (isPart && !this.#sum.addsParts) return;
    const times = block.numbers("time");
    const groups = groupPlacesOf(this.#groups, block, this.#options.field);
    const { count } = this.#places;
    const rest = this.#chosen.size;
    const places = groups.map((group, row) => {
      const place = this.#chosen.get(group) ?? rest;
      return place * count + this.#places.placeOf(times[row] ?? 0);
    });
    this.#sum.add(this.#points, block, places);
  }

  #pointsOf(place: number): GroupPoints {
    const { count, starts } = this.#places;
    const { round = (sum: number) => sum } = this.#sum;
    const sums = Array.from({ length: count }, (_, at) => this.#points.at(place * count + at));
    const add = (all: number, one: number) => all + one;
    const own = sums.slice(0, starts.length);
    return {
      total: round(own.reduce(add, 0)),
      former: round(sums.slice(starts.length).reduce(add, 0)),
      points: own.map(round),
    };
  }

  finish(): object {
    const { figure, field, value, names } = this.#options;
    const { count, starts } = this.#places;
    const { round = (sum: number) => sum } = this.#sum;
    const data = [...this.#chosen].map(([group, place]) => ({
      [value]: groupValue(this.#groups.at(group), field, names),
      ...this.#pointsOf(place),
    }));
    const others = this.#groups.size - data.length;
    const other = others > 0 ? { groups: others, ...this.#pointsOf(data.length) } : null;
    const sumAt = (at: number) => {
      let sum = 0;
      for (let place = 0; place <= data.length; place++) sum += this.#points.at(place * count + at);
      return sum;
    };
    const all = Array.from({ length: count }, (_, at) => sumAt(at));
    const totalOf = (sums: readonly number[]) => round(sums.reduce((sum, one) => sum + one, 0));
    return {
      object: "analytics-series",
      figure,
      summary: { total: totalOf(all.slice(0, starts.length)), former: totalOf(all.slice(starts.length)) },
      data_points: starts.map((start, at) => ({
        timestamp: new Date(start).toISOString(),
        total: round(all[at] ?? 0),
        former: round(all[starts.length + at] ?? 0),
      })),
      data,
      other,
    };
  }
}
