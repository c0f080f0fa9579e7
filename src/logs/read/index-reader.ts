import type { FeedbackStore } from "../../db/stores/feedback.ts";
import type { LogSegmentStore } from "../../db/stores/log-segments.ts";
import { FairGate } from "../../lib/fair-gate.ts";
import { maxText } from "../../lib/text-order.ts";
import { withoutDenied } from "../denied-fields.ts";
import type { FieldName } from "../index/fields.ts";
import { type FoundRow, findRows, type RowQuery } from "../index/find-rows.ts";
import type { LogIndex } from "../index/log-index.ts";
import { pointsBetween, startOfPoint, widthOf } from "../index/measures.ts";
import type { RowBlock } from "../index/row-block.ts";
import { meetsTerms, testsOf } from "../index/row-test.ts";
import { scanRows } from "../index/scan-rows.ts";
import { toRow, withoutContents } from "../row.ts";
import { CacheTotals } from "./cache-graphs.ts";
import { graphs } from "./graphs.ts";
import { GroupSeries } from "./group-series.ts";
import { GroupRun } from "./groups.ts";
import type {
  GraphQuestion,
  GroupsQuestion,
  ListPage,
  ListQuestion,
  LogReader,
  NewestRows,
  PeriodQuestion,
  SearchPage,
  SearchQuestion,
  SeriesQuestion,
  WantedRows,
} from "./log-reader.ts";
import { PeriodSummary } from "./period-summary.ts";
import type { Ratings } from "./ratings.ts";
import { type SearchedContents, searchRows } from "./search/search-rows.ts";
import { visitParts } from "./sums.ts";
import { FeedbackReader, feedbackBytes, feedbackTest } from "./trace-feedback.ts";
import { Vocabularies, type Vocabulary } from "./vocabulary.ts";

/** Questions that are answered at once: lists, and the longer ones for figures. Others wait. */
const listsAtOnce = 4;
const figuresAtOnce = 2;
const searchesAtOnce = 1;

/** Rows that a search looks at before it answers. */
const rowsOfSearch = 1_000;

/** Most bytes of strings that stay in memory for the next question. */
const vocabularyBytes = 32 * 2 ** 20;

/** What a reader reads from. */
interface ReaderParts {
  readonly index: LogIndex;
  readonly segments: LogSegmentStore;
  readonly feedback: FeedbackStore;
  /** What a search reads. */
  readonly contents: SearchedContents;
}

/** Visits rows that are requests, and rows that are parts of them. */
type VisitRows = (block: RowBlock, isPart: boolean) => void;

/** Reads the index of the log, step by step: other work of the thread runs in between. */
class IndexReader implements LogReader {
  readonly #index: LogIndex;
  readonly #segments: LogSegmentStore;
  readonly #feedback: FeedbackReader;
  readonly #vocabularies = new Vocabularies(vocabularyBytes);
  readonly #lists = new FairGate(listsAtOnce);
  readonly #figures = new FairGate(figuresAtOnce);
  readonly #searches = new FairGate(searchesAtOnce);
  readonly #contents: SearchedContents;

  constructor({ index, segments, feedback, contents }: ReaderParts) {
    this.#contents = contents;
    this.#index = index;
    this.#segments = segments;
    this.#feedback = new FeedbackReader(feedback, feedbackBytes);
  }

  find(question: NewestRows): Promise<FoundRow[]> {
    return this.#lists.run(question.scope.organisationId, () => this.#find(question));
  }

  list(question: ListQuestion): Promise<ListPage> {
    return this.#lists.run(question.scope.organisationId, () => this.#list(question));
  }

  search(question: SearchQuestion): Promise<SearchPage> {
    return this.#searches.run(question.scope.organisationId, () => this.#search(question));
  }

  count(question: WantedRows): Promise<number> {
    return this.#figures.run(question.scope.organisationId, () => this.#count(question));
  }

  graph(question: GraphQuestion): Promise<string> {
    return this.#withVocabularies(question, (vocabularyOf) => this.#graph(question, vocabularyOf));
  }

  cacheSummary(question: WantedRows): Promise<string> {
    return this.#figures.run(question.scope.organisationId, () => this.#cacheSummary(question));
  }

  periodSummary(question: PeriodQuestion): Promise<string> {
    return this.#figures.run(question.scope.organisationId, () => this.#periodSummary(question));
  }

  groups(question: GroupsQuestion): Promise<string> {
    return this.#withVocabularies(question, (vocabularyOf) => this.#groups(question, vocabularyOf(question.field)));
  }

  series(question: SeriesQuestion): Promise<string> {
    return this.#withVocabularies(question, (vocabularyOf) => this.#series(question, vocabularyOf(question.field)));
  }

  #withVocabularies({ scope }: WantedRows, answer: (of: (field: string) => Vocabulary) => Promise<string>) {
    const owner = scope.organisationId;
    return this.#figures.run(owner, () => this.#vocabularies.use(owner, answer));
  }

  async close(): Promise<void> {}

  /** @param known Feedback, if it was read already. */
  async #toQuery({ scope, lower, upper, conditions, terms }: WantedRows, known?: Ratings): Promise<RowQuery> {
    const tests = testsOf(terms);
    if (!terms.rating) return { lower, upper, conditions, tests };
    const feedback = known ?? (await this.#feedback.read(scope.organisationId));
    // without feedback no row meets a bound on it, and none needs to be looked at
    if (feedback.isEmpty) return { lower: "", upper: "", conditions, tests };
    return { lower, upper, conditions, tests: [...tests, feedbackTest(feedback, terms.rating)] };
  }

  /** The feedback of an organisation; undefined where it has none. */
  async #readFeedback({ scope }: WantedRows): Promise<Ratings | undefined> {
    const feedback = await this.#feedback.read(scope.organisationId);
    return feedback.isEmpty ? undefined : feedback;
  }

  async #find({ limit, ...wanted }: NewestRows): Promise<FoundRow[]> {
    return findRows(this.#index, wanted.scope, { ...(await this.#toQuery(wanted)), limit });
  }

  async #list({ content, denied, limit, ...wanted }: ListQuestion): Promise<ListPage> {
    const found = await this.#find({ ...wanted, limit: limit + 1 });
    const page = found.slice(0, limit);
    const next = found.length > limit ? (page.at(-1)?.id ?? null) : null;
    return { data: await this.#show(page, { content, denied, ...wanted }), next };
  }

  /** Rows that were found, in JSON. */
  async #show(page: readonly FoundRow[], { content, denied, scope, terms }: Omit<ListQuestion, "limit">) {
    const stored = await this.#segments.readRows(scope, page);
    const rows = page
      // a row that was removed meanwhile is left out, and one whose trace or span has the same digest
      .flatMap(({ id }) => stored.get(id) ?? [])
      .filter((row) => meetsTerms(row, terms))
      .map(toRow)
      .map((row) => withoutDenied(content ? row : withoutContents(row), denied));
    return JSON.stringify(rows);
  }

  async #search({ words, sides, ...question }: SearchQuestion): Promise<SearchPage> {
    const { scope, limit } = question;
    const rows = await this.#find({ ...question, limit: rowsOfSearch + 1 });
    const search = { scope, words, sides, limit };
    const result = await searchRows(rows.slice(0, rowsOfSearch), search, this.#contents);
    const next = result.rows < rows.length ? (result.last?.id ?? null) : null;
    const { rows: looked, characters, unavailable } = result;
    return { data: await this.#show(result.found, question), next, rows: looked, characters, unavailable };
  }

  async #count(wanted: WantedRows): Promise<number> {
    const query = await this.#toQuery(wanted);
    const firstShown = await this.#index.firstShown(wanted.scope);
    let rows = 0;
    const scan = { ...query, lower: maxText(firstShown, query.lower), fields: [] };
    await scanRows(this.#index, wanted.scope, scan, ({ length }) => {
      rows += length;
    });
    return rows;
  }

  async #scan(wanted: WantedRows, { fields, feedback }: ScanNeeds, visit: VisitRows): Promise<void> {
    const query = await this.#toQuery(wanted, feedback);
    const all = [...new Set<FieldName>(["part", ...fields])];
    await scanRows(this.#index, wanted.scope, { ...query, fields: all }, (block) => visitParts(block, visit));
  }

  async #graph(
    { name, from, to, ...wanted }: GraphQuestion,
    vocabularyOf: (field: string) => Vocabulary,
  ): Promise<string> {
    const graph = graphs[name];
    const feedback = graph.readsFeedback ? await this.#readFeedback(wanted) : undefined;
    const width = widthOf(from, to);
    const starts = pointsBetween(from, to, width);
    const first = starts[0] ?? startOfPoint(from, width);
    const pointOf = (time: number) => Math.floor((time - first) / width);
    const run = graph.start({
      points: starts.length,
      pointOf,
      feedback,
      vocabularyOf,
      pause: this.#index.createPause(),
    });
    await this.#scan(wanted, { fields: ["time", ...graph.fields], feedback }, (block, isPart) => {
      const times = block.numbers("time");
      const places = new Uint32Array(times.length);
      for (let row = 0; row < times.length; row++) places[row] = pointOf(times[row] ?? 0);
      if (isPart) run.addParts?.(block, places);
      else run.add(block, places);
    });
    const { summary, point, rows } = await run.finish();
    const data_points =
      rows ?? starts.map((start, at) => ({ timestamp: new Date(start).toISOString(), ...point?.(at) }));
    return JSON.stringify({ summary, data_points, object: "analytics-graph" });
  }

  async #cacheSummary(wanted: WantedRows): Promise<string> {
    const totals = new CacheTotals();
    await this.#scan(wanted, { fields: CacheTotals.fields }, (block, isPart) => {
      if (!isPart) totals.add(block);
    });
    return JSON.stringify({ summary: totals.summary(), object: "analytics-summary" });
  }

  async #periodSummary({ from, to, denied, ...wanted }: PeriodQuestion): Promise<string> {
    const width = widthOf(from, to);
    const starts = pointsBetween(from, to, width);
    const first = starts[0] ?? startOfPoint(from, width);
    const run = new PeriodSummary(starts.length, denied, this.#index.createPause());
    await this.#scan(wanted, { fields: ["time", ...run.fields] }, (block, isPart) => {
      const places = Uint32Array.from(block.numbers("time"), (time) =>
        time < from ? starts.length : Math.floor((time - first) / width),
      );
      run.add(block, places, isPart);
    });
    const { summary, former, points } = await run.finish();
    const data_points = starts.map((start, at) => ({ timestamp: new Date(start).toISOString(), ...points[at] }));
    return JSON.stringify({ summary, former, data_points, object: "analytics-summary" });
  }

  async #groups(question: GroupsQuestion, vocabulary: Vocabulary): Promise<string> {
    const { readsFeedback, hasTotal } = question.query;
    const feedback = readsFeedback ? await this.#readFeedback(question) : undefined;
    const run = new GroupRun(question, { feedback, vocabulary, pause: this.#index.createPause() });
    await this.#scan(question, { fields: run.fields, feedback }, (block, isPart) => run.add(block, isPart));
    const { total, data } = await run.finish();
    return JSON.stringify({ object: "list", ...(hasTotal && { total }), data });
  }

  async #series(question: SeriesQuestion, vocabulary: Vocabulary): Promise<string> {
    const run = new GroupSeries(question, vocabulary);
    await this.#scan(question, { fields: run.fields }, (block, isPart) => run.addTotals(block, isPart));
    run.choose();
    await this.#scan(question, { fields: run.fields }, (block, isPart) => run.add(block, isPart));
    return JSON.stringify(run.finish());
  }
}

/** What a scan needs of the rows. */
interface ScanNeeds {
  readonly fields: readonly FieldName[];
  /** Feedback, if it was read already. */
  readonly feedback?: Ratings | undefined;
}

/** A reader on the thread that calls this. */
export function createIndexReader(parts: ReaderParts): LogReader {
  return new IndexReader(parts);
}
