import type { TraceRating } from "../../db/stores/feedback.ts";
import { giveWay } from "../../lib/pace.ts";
import { digestOfId } from "../index/fields.ts";
import type { RowBlock } from "../index/row-block.ts";

/** Places at first, and how much longer a list becomes. */
const firstPlaces = 64;
const growth = 1.25;

/** Whole numbers or fractions by place: objects would take several times the memory. */
class NumberList<Values extends Float64Array | Uint32Array | Int8Array> {
  readonly #make: (length: number) => Values;
  #values: Values;

  constructor(make: (length: number) => Values) {
    this.#make = make;
    this.#values = make(firstPlaces);
  }

  get bytes(): number {
    return this.#values.byteLength;
  }

  /** 0 where none was set. */
  at(place: number): number {
    return this.#values[place] ?? 0;
  }

  set(place: number, value: number): void {
    if (place >= this.#values.length) {
      const larger = this.#make(Math.ceil((place + 1) * growth));
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[place] = value;
  }
}

const fractions = () => new NumberList((length) => new Float64Array(length));
const wholes = () => new NumberList((length) => new Uint32Array(length));

/** No trace: one without feedback. */
export const noTrace = -1;

/** Slots at first: a power of two. */
const firstSlots = 1_024;
/** Ratings that are copied without a pause. */
const copiedAtOnce = 16_384;

/** Feedback of an organisation, in memory: some 70 bytes a rating. Traces have numbers from 0. */
export class Ratings {
  // of each rating; `next` is one more than the rating before it of the same trace, 0 at the first
  readonly #rowIds = fractions();
  readonly #values = new NumberList((length) => new Int8Array(length));
  readonly #weights = fractions();
  readonly #createdAt = fractions();
  readonly #next = wholes();
  // of each trace; `last` is one more than its last rating
  readonly #digests = fractions();
  readonly #workspaceOf = wholes();
  readonly #last = wholes();
  readonly #counts = wholes();
  readonly #weighted = fractions();
  /** Numbers of workspaces: traces of different ones may have the same id. */
  readonly #workspaces = new Map<string, number>();
  /** One more than the trace at the first free slot from its digest on; 0 where none is. */
  #slots = new Uint32Array(firstSlots);
  #size = 0;
  #traces = 0;
  #lastRowId = 0;
  #oldest = Number.POSITIVE_INFINITY;

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** How many traces have numbers. */
  get traces(): number {
    return this.#traces;
  }

  get bytes(): number {
    const ofRatings = [this.#rowIds, this.#values, this.#weights, this.#createdAt, this.#next];
    const ofTraces = [this.#digests, this.#workspaceOf, this.#last, this.#counts, this.#weighted];
    return [...ofRatings, ...ofTraces].reduce((sum, { bytes }) => sum + bytes, this.#slots.byteLength);
  }

  /** The number of a trace. */
  find(workspaceId: string, traceId: string): number {
    return this.#find(this.#workspaces.get(workspaceId), digestOfId(traceId));
  }

  /** The trace of each row of a block. */
  of(block: RowBlock): (place: number) => number {
    if (this.isEmpty) return () => noTrace;
    const traces = block.numbers("trace");
    const { codes, values } = block.strings("workspace");
    const workspaces = Array.from({ length: values.size }, (_, place) => this.#workspaces.get(values.at(place)));
    return (place) => this.#find(workspaces[(codes[place] ?? 0) - 1], traces[place] ?? 0);
  }

  /** How many ratings a trace has. */
  countOf(trace: number): number {
    return this.#counts.at(trace);
  }

  /** Sum of value times weight of a trace. */
  weightedOf(trace: number): number {
    return this.#weighted.at(trace);
  }

  /** Mean of value times weight of a trace. */
  meanOf(trace: number): number {
    return this.weightedOf(trace) / this.countOf(trace);
  }

  /** Calls for the value of each rating of a trace. */
  visitValues(trace: number, visit: (value: number) => void): void {
    for (let next = this.#last.at(trace); next > 0; next = this.#next.at(next - 1)) visit(this.#values.at(next - 1));
  }

  /** Adds a rating, or changes it. */
  set(rating: TraceRating): void {
    const { workspaceId, traceId, rowId, value, weight } = rating;
    const trace = this.#traceOf(this.#workspaceNumber(workspaceId), digestOfId(traceId));
    // rows behind the last are new: a trace may have very many
    const known = rowId > this.#lastRowId ? undefined : this.#ratingOf(trace, rowId);
    this.#lastRowId = Math.max(rowId, this.#lastRowId);
    if (known === undefined) {
      this.#add(trace, rating);
      return;
    }
    const before = this.#values.at(known) * this.#weights.at(known);
    this.#weighted.set(trace, this.#weighted.at(trace) + value * weight - before);
    this.#values.set(known, value);
    this.#weights.set(known, weight);
  }

  /** The ratings that were created at a time or after it: these, if all were. */
  async since(oldest: number): Promise<Ratings> {
    if (oldest <= this.#oldest) return this;
    const left = new Ratings();
    for (const [name, number] of this.#workspaces) left.#workspaces.set(name, number);
    left.#lastRowId = this.#lastRowId;
    for (let trace = 0; trace < this.#traces; trace++) {
      for (let next = this.#last.at(trace); next > 0; next = this.#next.at(next - 1)) {
        if (next % copiedAtOnce === 0) await giveWay();
        const createdAt = this.#createdAt.at(next - 1);
        if (createdAt < oldest) continue;
        left.#add(left.#traceOf(this.#workspaceOf.at(trace), this.#digests.at(trace)), {
          rowId: this.#rowIds.at(next - 1),
          value: this.#values.at(next - 1),
          weight: this.#weights.at(next - 1),
          createdAt,
        });
      }
    }
    return left;
  }

  #workspaceNumber(workspaceId: string): number {
    const number = this.#workspaces.get(workspaceId) ?? this.#workspaces.size;
    this.#workspaces.set(workspaceId, number);
    return number;
  }

  /** The rating of a trace with a row id. */
  #ratingOf(trace: number, rowId: number): number | undefined {
    for (let next = this.#last.at(trace); next > 0; next = this.#next.at(next - 1)) {
      if (this.#rowIds.at(next - 1) === rowId) return next - 1;
    }
    return undefined;
  }

  #add(
    trace: number,
    { rowId, value, weight, createdAt }: Pick<TraceRating, "rowId" | "value" | "weight" | "createdAt">,
  ): void {
    const rating = this.#size++;
    this.#rowIds.set(rating, rowId);
    this.#values.set(rating, value);
    this.#weights.set(rating, weight);
    this.#createdAt.set(rating, createdAt);
    this.#next.set(rating, this.#last.at(trace));
    this.#last.set(trace, rating + 1);
    this.#counts.set(trace, this.#counts.at(trace) + 1);
    this.#weighted.set(trace, this.#weighted.at(trace) + value * weight);
    this.#oldest = Math.min(createdAt, this.#oldest);
  }

  #find(workspace: number | undefined, digest: number): number {
    if (workspace === undefined) return noTrace;
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = slotOf(workspace, digest) & mask; ; slot = (slot + 1) & mask) {
      const trace = (slots[slot] ?? 0) - 1;
      if (trace < 0 || (this.#digests.at(trace) === digest && this.#workspaceOf.at(trace) === workspace)) return trace;
    }
  }

  /** The number of a trace, which is added if it is new. */
  #traceOf(workspace: number, digest: number): number {
    const found = this.#find(workspace, digest);
    if (found !== noTrace) return found;
    const trace = this.#traces++;
    this.#digests.set(trace, digest);
    this.#workspaceOf.set(trace, workspace);
    if (this.#traces * 2 <= this.#slots.length) this.#take(trace);
    else {
      this.#slots = new Uint32Array(this.#slots.length * 2);
      for (let one = 0; one < this.#traces; one++) this.#take(one);
    }
    return trace;
  }

  /** Puts a trace into its first free slot. */
  #take(trace: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = slotOf(this.#workspaceOf.at(trace), this.#digests.at(trace)) & mask;
    while (slots[slot] !== 0) slot = (slot + 1) & mask;
    slots[slot] = trace + 1;
  }
}

/** Where a trace is looked for first. */
function slotOf(workspace: number, digest: number): number {
  const mixed = Math.imul((digest >>> 0) ^ Math.imul(workspace, 0x9e3779b1), 0x85ebca6b);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}
