import type { LogScope } from "../../db/stores/log-scope.ts";
import type { GraphName } from "../../schemas/analytics.ts";
import type { DeniedFields } from "../denied-fields.ts";
import type { FoundRow } from "../index/find-rows.ts";
import type { RowFilter } from "../index/row-test.ts";
import type { SeriesOptions } from "./group-series.ts";
import type { GroupOptions } from "./groups.ts";
import type { SearchedSide } from "./search/search-rows.ts";

/** Which rows are wanted, and whose. Like all that a reader is asked it is plain data: another thread may answer. */
export interface WantedRows extends RowFilter {
  readonly scope: LogScope;
}

/** A number of the newest rows. */
export interface NewestRows extends WantedRows {
  /** Most rows. */
  readonly limit: number;
}

/** A page of a list. */
export interface ListQuestion extends NewestRows {
  /** Rows show what quotes contents. */
  readonly content: boolean;
  /** Fields that rows do not show. */
  readonly denied: DeniedFields;
}

/** Rows of a page, newest first. */
export interface ListPage {
  /** A JSON array. */
  readonly data: string;
  /** Id of the row behind which the next page begins; null on the last page. */
  readonly next: string | null;
}

/** A page of the rows whose contents have words. */
export interface SearchQuestion extends ListQuestion {
  /** As `readWords` writes them. */
  readonly words: readonly string[];
  readonly sides: readonly SearchedSide[];
}

/** The rows that were found, and what was looked at for them. The next page goes on behind that. */
export interface SearchPage extends ListPage {
  readonly rows: number;
  readonly characters: number;
  readonly unavailable: number;
}

/** A graph of rows that began in a period. */
export interface GraphQuestion extends WantedRows {
  readonly name: GraphName;
  /** Unix milliseconds, both inclusive. */
  readonly from: number;
  readonly to: number;
}

/** The figures of a period beside those of the period before, whose rows are wanted too. */
export interface PeriodQuestion extends WantedRows {
  /** Unix milliseconds, both inclusive. */
  readonly from: number;
  readonly to: number;
  /** Fields that no figure shows. */
  readonly denied: DeniedFields;
}

/** Groups of rows. */
export interface GroupsQuestion extends WantedRows, GroupOptions {}

/** A figure by group over time, of a period and of the one before it, whose rows are wanted too. */
export interface SeriesQuestion extends WantedRows, SeriesOptions {}

/** Reads the log for lists, exports and analytics. Hosts may do it on another thread. */
export interface LogReader {
  /** The newest rows: their ids and batches. */
  find(question: NewestRows): Promise<FoundRow[]>;
  /** A page of a list, as the API shows it. */
  list(question: ListQuestion): Promise<ListPage>;
  /** A page of a search. */
  search(question: SearchQuestion): Promise<SearchPage>;
  /** How many rows there are. */
  count(question: WantedRows): Promise<number>;
  /** A graph, in JSON. */
  graph(question: GraphQuestion): Promise<string>;
  /** What the cache saved, in JSON. */
  cacheSummary(question: WantedRows): Promise<string>;
  /** The figures of a period, in JSON. */
  periodSummary(question: PeriodQuestion): Promise<string>;
  /**
   * A page of groups, in JSON.
   *
   * @throws {InvalidRequestError} AB01, if there are too many groups.
   */
  groups(question: GroupsQuestion): Promise<string>;
  /** A figure by group over time, in JSON. */
  series(question: SeriesQuestion): Promise<string>;
  /** Ends what runs. */
  close(): Promise<void>;
}
