import type { LogScope } from "../../db/stores/log-scope.ts";
import type { LogSegmentStore } from "../../db/stores/log-segments.ts";
import { type Column, decodeColumn, type StringColumn } from "../../lib/columns.ts";
import { createPause, runPaced } from "../../lib/pace.ts";
import { WeightedCache } from "../../lib/weighted-cache.ts";
import type { IndexState, ScopedSegment, Slice } from "../../schemas/log-segments.ts";
import { addToGroups, type BatchGroup } from "./batch-groups.ts";
import type { Condition } from "./conditions.ts";
import { createEmptyColumn, type FieldName, metadataKeyOf } from "./fields.ts";
import type { Pause } from "./measures.ts";
import { mergeKey } from "./other-metadata.ts";
import { otherMetadataOf, RowTable, type StoredColumn, sharedMetadata } from "./row-table.ts";

/** Whose rows are read: one workspace, or with null a whole organisation. */
export type IndexScope = LogScope;

/** Rows of a scope that lie together. */
export interface RowView {
  /** No row has a smaller or larger id. */
  readonly firstId: string;
  readonly lastId: string;
  /** Rows that do not meet them are not part of the view. */
  readonly conditions: readonly Condition[];
  open(fields: Iterable<FieldName>): Promise<OpenView>;
}

/** A view in memory. */
interface OpenView {
  /** The rows of each tenant, oldest first. */
  readonly slices: readonly Slice[];
  /** @throws {TypeError} For a field that was not asked for. */
  columnOf(field: FieldName): Column;
}

/** What is known of a scope. */
interface KnownScope {
  readonly state: IndexState;
  /** The newest first. */
  readonly segments: readonly ScopedSegment[];
  /** Batches that had no segment when they were read, up to `lastSeq`, the oldest first. */
  readonly tail: readonly BatchGroup[];
  readonly lastSeq: number;
}

/** Slices of the scopes that are known, in all, at most: some 200 MB. A scope with more than a quarter is read each time. */
const maxKnownSlices = 400_000;
/** A scope takes as much memory as a few slices. */
const plainSlices = 8;
/** How often the segments of a scope are read again because they changed meanwhile. */
const maxReads = 8;
/** Batches whose sizes are read at a time. */
const pageBatches = 1_024;

/** Bytes of a column in memory, roughly. */
function sizeOf(column: Column): number {
  if (column.kind === "ids") return column.bytes.length;
  // with a number for each string, as groups have them
  const strings = column.kind === "strings" ? column.values.bytes + 4 * column.values.size : 0;
  return column.codes.byteLength + strings + 64;
}

function openView(slices: readonly Slice[], columns: ReadonlyMap<FieldName, Column>): OpenView {
  return {
    slices,
    columnOf(field) {
      const column = columns.get(field);
      if (!column) throw new TypeError(`Cannot read the column ${field}: it was not asked for`);
      return column;
    },
  };
}

/** Marks columns that were picked of an organisation's other metadata. */
const pickedKey = (segmentId: number, owner: string, field: FieldName): string =>
  JSON.stringify([segmentId, owner, field]);

const keyOf = ({ organisationId, workspaceId }: IndexScope): string => JSON.stringify([organisationId, workspaceId]);

/** Whether the same segments are live: a segment that takes the place of another has a larger id. */
function isSameIndex(one: IndexState, other: IndexState): boolean {
  return one.segments === other.segments && one.idSum === other.idSum && one.sealed === other.sealed;
}

/** Rows of the tail that have a segment by now are not part of a view. */
function sinceSeq(firstSeq: number, least: number): Condition[] {
  return firstSeq < least ? [{ field: "seq", least }] : [];
}

function rangeOf(slices: readonly Slice[]): { firstId: string; lastId: string } {
  let { firstId = "", lastId = "" } = slices[0] ?? {};
  for (const slice of slices) {
    if (slice.firstId < firstId) firstId = slice.firstId;
    if (slice.lastId > lastId) lastId = slice.lastId;
  }
  return { firstId, lastId };
}

/** Rows of batches without a segment, in memory. */
interface OpenGroup {
  readonly rows: number;
  readonly slices: readonly Slice[];
  readonly columns: ReadonlyMap<StoredColumn, Column>;
}

/** A column that holds values of a key of the metadata besides its own. */
const isOther = (column: Column | undefined): column is StringColumn => column?.kind === "strings";

/**
 * The index over the log: columns of all rows, in segments that never change, and behind them the batches that have no
 * segment yet, which are read when they are needed. Segments outlive the batches: they are all that is left of old rows.
 */
export class LogIndex {
  readonly #store: LogSegmentStore;
  /** Columns of segments. */
  readonly #columns: WeightedCache<Column>;
  readonly #groups: WeightedCache<OpenGroup>;
  readonly #scopes = new WeightedCache<KnownScope>(maxKnownSlices);
  readonly #sliceMs: number | undefined;
  readonly #pause: Pause;

  /**
   * @param maxBytes Most bytes of columns that stay in memory.
   * @param sliceMs Time that a question may take before others have a turn of the event loop. Default 1.
   */
  constructor(store: LogSegmentStore, maxBytes: number, sliceMs?: number) {
    this.#store = store;
    this.#sliceMs = sliceMs;
    this.#pause = createPause(sliceMs);
    this.#columns = new WeightedCache(maxBytes * 0.75);
    this.#groups = new WeightedCache(maxBytes * 0.25);
  }

  /** What gives others a turn while a question is answered. */
  createPause(): Pause {
    return createPause(this.#sliceMs);
  }

  /** All rows of a scope, the newest batches first. */
  async views(scope: IndexScope): Promise<RowView[]> {
    const { state, segments, tail } = await this.#look(scope);
    const { sealed, change } = state;
    const inTail = tail.toReversed().map(
      (group): RowView => ({
        ...group,
        conditions: sinceSeq(group.firstSeq, sealed + 1),
        open: (fields) => this.#openGroup(group, fields, { scope, change }),
      }),
    );
    const inSegments = segments.map(
      (segment): RowView => ({
        ...rangeOf(segment.slices),
        conditions: [],
        open: (fields) => this.#openSegment(segment, fields, scope),
      }),
    );
    return [...inTail, ...inSegments];
  }

  /** The oldest id that lists of a scope show. Statistics count the rows before it too, whether they are removed or not. */
  firstShown({ organisationId }: IndexScope): Promise<string> {
    return this.#store.readFirstShown(organisationId);
  }

  /** Reads what has changed of a scope. */
  async #look(scope: IndexScope): Promise<KnownScope> {
    const key = keyOf(scope);
    const known = this.#scopes.get(key);
    const found = await this.#readIndex(scope, known);
    const looked = { ...found, ...(await this.#readTail(scope, found.state, known)) };
    const slices = looked.segments.reduce((sum, segment) => sum + segment.slices.length, plainSlices);
    this.#scopes.set(key, looked, { owner: scope.organisationId, weight: slices + looked.tail.length });
    return looked;
  }

  /** The live segments of a scope, the newest first, and the state in which they are. */
  async #readIndex(scope: IndexScope, known: KnownScope | undefined): Promise<Pick<KnownScope, "state" | "segments">> {
    let state = await this.#store.readState();
    for (let reads = 1; !known || !isSameIndex(known.state, state); reads++) {
      const segments = await this.#readSegments(scope);
      const after = await this.#store.readState();
      // a segment that took the place of another meanwhile may be on none of the pages
      if (isSameIndex(state, after) || reads === maxReads) return { state, segments };
      state = after;
    }
    return { state, segments: known.segments };
  }

  /** Reads the live segments of a scope page by page: other requests run in between. */
  async #readSegments(scope: IndexScope): Promise<ScopedSegment[]> {
    const segments: ScopedSegment[] = [];
    for (let after: number | undefined = 0; after !== undefined; ) {
      const page: Awaited<ReturnType<LogSegmentStore["readSegments"]>> = await this.#store.readSegments(scope, after);
      for (const segment of page.segments) segments.push(segment);
      after = page.next;
      await this.#pause();
    }
    return segments.sort((one, other) => other.firstSeq - one.firstSeq);
  }

  async #readTail(
    scope: IndexScope,
    { sealed }: IndexState,
    known: KnownScope | undefined,
  ): Promise<Pick<KnownScope, "tail" | "lastSeq">> {
    const isKnown = known !== undefined && known.state.sealed <= sealed;
    const tail = isKnown ? known.tail.filter(({ lastSeq }) => lastSeq > sealed) : [];
    let lastSeq = isKnown ? Math.max(known.lastSeq, sealed) : sealed;
    for (;;) {
      const sizes = await this.#store.readSizes(scope, lastSeq, pageBatches);
      addToGroups(tail, sizes);
      lastSeq = sizes.at(-1)?.seq ?? lastSeq;
      if (sizes.length < pageBatches) return { tail, lastSeq };
      await this.#pause();
    }
  }

  async #openSegment(segment: ScopedSegment, fields: Iterable<FieldName>, scope: IndexScope): Promise<OpenView> {
    const columns = new Map<FieldName, Column>();
    for (const field of fields) {
      if (!columns.has(field)) columns.set(field, await this.#readField(segment, field, scope));
    }
    return openView(segment.slices, columns);
  }

  async #readField(segment: ScopedSegment, field: FieldName, { organisationId: owner }: IndexScope): Promise<Column> {
    const key = `${segment.id}:${field}`;
    const known = this.#columns.get(pickedKey(segment.id, owner, field)) ?? this.#columns.get(key);
    if (known) return known;
    const readColumn = (name: StoredColumn) => this.#readColumn(segment, name);
    const merged = await this.#mergeOthers(field, await readColumn(field), { owner, readColumn });
    const column = merged.column ?? createEmptyColumn(field, segment.rows);
    const cacheKey = merged.isPicked ? pickedKey(segment.id, owner, field) : key;
    this.#columns.set(cacheKey, column, { owner, weight: sizeOf(column) });
    await this.#pause();
    return column;
  }

  async #readColumn({ id }: ScopedSegment, name: StoredColumn): Promise<Column | undefined> {
    const bytes = await this.#store.readColumn(id, name);
    return bytes && decodeColumn(bytes);
  }

  /** A column, for a key of the metadata together with the values that are elsewhere. */
  async #mergeOthers(
    field: FieldName,
    own: Column | undefined,
    { owner, readColumn }: { owner: string; readColumn(name: StoredColumn): Promise<Column | undefined> },
  ): Promise<{ column: Column | undefined; isPicked: boolean }> {
    let [column, isPicked] = [own, false];
    if (metadataKeyOf(field) === undefined) return { column, isPicked };
    const merge = async (others: StringColumn) => {
      isPicked = true;
      column = await runPaced(mergeKey(field, column, others));
      await this.#pause();
    };
    for (let piece = 0; ; piece++) {
      const others = await readColumn(otherMetadataOf(owner, piece));
      if (!isOther(others)) break;
      await merge(others);
    }
    const shared = own ? undefined : await readColumn(sharedMetadata);
    if (isOther(shared)) await merge(shared);
    return { column, isPicked };
  }

  async #openGroup(
    group: BatchGroup,
    fields: Iterable<FieldName>,
    { scope, change }: { scope: IndexScope; change: number },
  ): Promise<OpenView> {
    const { organisationId: owner } = scope;
    // batches that are written later make another group, and so does a change of rows
    const key = JSON.stringify([keyOf(scope), change, group.firstSeq, group.lastSeq]);
    const open = this.#groups.get(key) ?? (await this.#readGroup(group, scope, key));
    const columns = new Map<FieldName, Column>();
    for (const field of fields) {
      const merged = await this.#mergeOthers(field, open.columns.get(field), {
        owner,
        readColumn: async (name) => open.columns.get(name),
      });
      columns.set(field, merged.column ?? createEmptyColumn(field, open.rows));
    }
    return openView(open.slices, columns);
  }

  /** Reads all columns at once: if a batch is removed in between, they would differ in their rows. */
  async #readGroup(group: BatchGroup, scope: IndexScope, key: string): Promise<OpenGroup> {
    const batches = await this.#store.readBatches(scope, group);
    const pause = this.createPause();
    const table = new RowTable();
    for (const batch of batches) {
      table.add(batch);
      await pause();
    }
    const { rows, slices, names, column: columnOf } = table.finish();
    const columns = new Map<StoredColumn, Column>();
    let weight = 0;
    for (const name of names) {
      const column = columnOf(name);
      if (!column) continue;
      columns.set(name, column);
      weight += sizeOf(column);
      await pause();
    }
    const open: OpenGroup = { rows, slices, columns };
    this.#groups.set(key, open, { owner: scope.organisationId, weight });
    await this.#pause();
    return open;
  }
}
