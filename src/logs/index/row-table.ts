import { type Column, IdCollector, NumberCollector, StringCollector } from "../../lib/columns.ts";
import { isId, timeOfId } from "../../lib/ids.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import type { Steps } from "../../lib/steps.ts";
import type { LoggedBatch, Slice } from "../../schemas/log-segments.ts";
import type { LogDetails } from "../../schemas/logs.ts";
import { idAt, numberAt, stringAt } from "./conditions.ts";
import { endUserKey, type FieldName, indexedFields, indexedMetadata, metadataField, metadataKeyOf } from "./fields.ts";

/** A column as it is stored: a field, or an organisation's metadata of keys without a column. */
export type StoredColumn = FieldName | OtherMetadata;

/** A column with JSON objects: the metadata of an organisation's rows, of keys that have no column or had none then. */
type OtherMetadata = typeof sharedMetadata | `metadata:${string}`;

/** Such a column of earlier versions, with the rows of all organisations. */
export const sharedMetadata = "metadata";

const otherStart = "metadata:";

/**
 * Where the metadata of an organisation is whose keys have no column. What other organisations send is not there, so that
 * nobody's many keys make the lists of others slow. Much of it is in several columns, numbered from 0: reading a large one
 * would hold other requests.
 */
export const otherMetadataOf = (organisationId: string, piece: number): OtherMetadata =>
  `${otherStart}${organisationId}:${piece}`;

/** Characters of such a column, from which on another one begins. */
const maxOtherCharacters = 2 ** 20;

/** Most columns that come from keys of one organisation, those that come first, and of all. */
const maxOwnColumns = 64;
const maxMetadataColumns = 512;

/** Steps that copying one value takes, roughly. */
const stepsPerCopy = 8;

/** Keys of the metadata that always have a column, by organisation. */
type DeclaredKeys = ReadonlyMap<string, ReadonlySet<string>>;

/** Rows of a log in their order: by tenant, then by id. */
export interface OrderedRows {
  readonly rows: number;
  readonly slices: readonly Slice[];
  /** Columns that hold a value. */
  readonly names: readonly StoredColumn[];
  /** Undefined where no row has a value. */
  column(name: StoredColumn): Column | undefined;
  /** The same, with pauses. */
  columnInSteps(name: StoredColumn): Steps<Column | undefined>;
}

/** Whose rows they are. */
type Tenant = Pick<Slice, "organisationId" | "workspaceId">;

interface Collector {
  column(order: Uint32Array): Column | undefined;
  /** Absent where a column takes a few milliseconds at most. */
  columnInSteps?(order: Uint32Array): Steps<Column | undefined>;
}

function* columnOf(collector: Collector | undefined, order: Uint32Array): Steps<Column | undefined> {
  if (collector?.columnInSteps) return yield* collector.columnInSteps(order);
  yield order.length;
  return collector?.column(order);
}

type AddField = (row: number, seq: number, details: LogDetails) => void;

/** Copies the value of a row in a column to another row. */
type CopyField = (row: number, column: Column, from: number) => void;

/** What collects a field, what adds a row to it, and what copies one. */
function collect(field: (typeof indexedFields)[keyof typeof indexedFields]): {
  collector: Collector;
  add: AddField;
  copy: CopyField;
} {
  if (field.kind === "strings") {
    const collector = new StringCollector();
    return {
      collector,
      add: (row, _, details) => collector.set(row, field.of(details)),
      copy: (row, column, from) => collector.set(row, column.kind === "strings" ? stringAt(column, from) : null),
    };
  }
  const collector = new NumberCollector();
  return {
    collector,
    add: (row, seq, details) => collector.set(row, field.of(details, seq)),
    copy: (row, column, from) => collector.set(row, column.kind === "numbers" ? numberAt(column, from) : null),
  };
}

/** Rows of a segment. */
interface SegmentRows {
  readonly slices: readonly Slice[];
  readonly columns: ReadonlyMap<string, Column>;
}

/** The metadata of a row of a segment, besides the end user. */
function metadataAt({ columns }: SegmentRows, row: number): Record<string, string> {
  const pairs: [string, string][] = [];
  for (const [name, column] of columns) {
    const key = metadataKeyOf(name as FieldName); // any other text is no field of the metadata either
    const text = column.kind === "strings" ? stringAt(column, row) : null;
    if (text === null) continue;
    if (key !== undefined) pairs.push([key, text]);
    const isOther = name === sharedMetadata || name.startsWith(otherStart);
    const others = isOther ? parseJson(text) : undefined;
    if (isObject(others)) for (const [other, value] of Object.entries(others)) pairs.push([other, String(value)]);
  }
  return Object.fromEntries(pairs);
}

/** Collects the fields of log rows. It holds each string once, and not the rows. */
export class RowTable {
  #rows = 0;
  readonly #collectors = new Map<StoredColumn, Collector>();
  readonly #fields: AddField[] = [];
  readonly #copies = new Map<string, CopyField>();
  readonly #metadata = new Map<string, StringCollector>();
  /** The last of each organisation's columns for other metadata. */
  readonly #otherMetadata = new Map<string, { piece: number; characters: number; collector: StringCollector }>();
  /** Columns that came from keys of each organisation that are not declared. */
  readonly #ownColumns = new Map<string, number>();
  readonly #declared: DeclaredKeys;
  readonly #ids = new IdCollector();
  /** Unix milliseconds of each row. */
  readonly #times: number[] = [];
  readonly #tenants: Tenant[] = [];
  readonly #tenantNumbers = new Map<string, number>();
  /** Index of the tenant of each row. */
  readonly #tenantOf: number[] = [];

  constructor(declared: DeclaredKeys = new Map()) {
    this.#declared = declared;
    this.#collectors.set("id", this.#ids);
    for (const [name, field] of Object.entries(indexedFields)) {
      const { collector, add, copy } = collect(field);
      this.#collectors.set(name as FieldName, collector); // a key of `indexedFields`
      this.#copies.set(name, copy);
      this.#fields.push(add);
    }
  }

  /** Adds the rows of a batch. Those without an id were not written by this program and are left out. */
  add({ seq, organisationId, workspaceId, details: all }: LoggedBatch): void {
    const tenant = this.#tenantNumber({ organisationId, workspaceId });
    for (const details of all) {
      if (!(typeof details?.id === "string" && isId(details.id))) continue;
      const row = this.#addRow(details.id, tenant);
      for (const addField of this.#fields) addField(row, seq, details);
      this.#addMetadata(row, organisationId, { metadata: indexedMetadata(details) });
    }
  }

  /** Adds the rows of a segment that are wanted, by the numbers of their batches and their ids. */
  *copy(segment: SegmentRows, isWanted: (seq: number, id: string) => boolean): Steps<void> {
    const [ids, seqs] = [segment.columns.get("id"), segment.columns.get("seq")];
    if (!ids || seqs?.kind !== "numbers") return;
    for (const slice of segment.slices) {
      const tenant = this.#tenantNumber({ organisationId: slice.organisationId, workspaceId: slice.workspaceId });
      for (let from = slice.start; from < slice.end; from++) {
        yield segment.columns.size * stepsPerCopy;
        const id = idAt(ids, from);
        if (!isWanted(numberAt(seqs, from), id)) continue;
        const row = this.#addRow(id, tenant);
        for (const [name, column] of segment.columns) this.#copies.get(name)?.(row, column, from);
        this.#addMetadata(row, slice.organisationId, { metadata: metadataAt(segment, from) });
      }
    }
  }

  #addRow(id: string, tenant: number): number {
    const row = this.#rows++;
    this.#ids.set(row, id);
    this.#times.push(timeOfId(id));
    this.#tenantOf.push(tenant);
    return row;
  }

  #tenantNumber(tenant: Tenant): number {
    const name = JSON.stringify([tenant.organisationId, tenant.workspaceId]);
    const number = this.#tenantNumbers.get(name) ?? this.#tenants.push(tenant) - 1;
    this.#tenantNumbers.set(name, number);
    return number;
  }

  #addMetadata(row: number, organisationId: string, { metadata }: Pick<LogDetails, "metadata">): void {
    let others: [string, string][] | undefined;
    for (const key in metadata) {
      const value = metadata[key];
      if (key === endUserKey || typeof value !== "string") continue;
      const collector = this.#metadataCollector(key, organisationId);
      if (collector) collector.set(row, value);
      else others = [...(others ?? []), [key, value]];
    }
    if (others) this.#addOthers(row, organisationId, JSON.stringify(Object.fromEntries(others)));
  }

  #addOthers(row: number, organisationId: string, text: string): void {
    let last = this.#otherMetadata.get(organisationId);
    if (!last || last.characters > maxOtherCharacters) {
      last = { piece: last ? last.piece + 1 : 0, characters: 0, collector: new StringCollector() };
      this.#otherMetadata.set(organisationId, last);
      this.#collectors.set(otherMetadataOf(organisationId, last.piece), last.collector);
    }
    last.characters += text.length;
    last.collector.set(row, text);
  }

  #metadataCollector(key: string, organisationId: string): StringCollector | undefined {
    const known = this.#metadata.get(key);
    if (known) return known;
    if (!this.#declared.get(organisationId)?.has(key)) {
      const columns = this.#ownColumns.get(organisationId) ?? 0;
      if (columns === maxOwnColumns || this.#metadata.size >= maxMetadataColumns) return undefined;
      this.#ownColumns.set(organisationId, columns + 1);
    }
    const made = new StringCollector();
    this.#metadata.set(key, made);
    this.#collectors.set(metadataField(key), made);
    return made;
  }

  /** The rows in order. Columns are made when they are asked for, and not stored. */
  finish(): OrderedRows {
    const order = this.#order();
    return {
      rows: order.length,
      slices: this.#slices(order),
      names: [...this.#collectors.keys()],
      column: (name) => this.#collectors.get(name)?.column(order),
      columnInSteps: (name) => columnOf(this.#collectors.get(name), order),
    };
  }

  #order(): Uint32Array {
    const order = Uint32Array.from({ length: this.#rows }, (_, row) => row);
    const [tenantOf, times, ids] = [this.#tenantOf, this.#times, this.#ids];
    const compare = (one: number, other: number): number =>
      (tenantOf[one] ?? 0) - (tenantOf[other] ?? 0) ||
      (times[one] ?? 0) - (times[other] ?? 0) ||
      ids.compare(one, other);
    // requests of a single tenant often end in the order they began in
    const isOrdered = order.every((row) => row === 0 || compare(row - 1, row) <= 0);
    return isOrdered ? order : order.sort(compare);
  }

  #slices(order: Uint32Array): Slice[] {
    const slices: Slice[] = [];
    let start = 0;
    for (let end = 1; end <= order.length; end++) {
      const number = this.#tenantOf[order[start] ?? 0] ?? 0;
      if (end < order.length && this.#tenantOf[order[end] ?? 0] === number) continue;
      const tenant = this.#tenants[number];
      if (tenant) slices.push({ ...tenant, start, end, ...this.#idsBetween(order, start, end) });
      start = end;
    }
    return slices;
  }

  #idsBetween(order: Uint32Array, start: number, end: number): Pick<Slice, "firstId" | "lastId"> {
    return { firstId: this.#ids.at(order[start] ?? 0), lastId: this.#ids.at(order[end - 1] ?? 0) };
  }
}
