import { InvalidRequestError } from "../../errors.ts";
import type { FieldName, StringFieldName } from "../index/fields.ts";
import type { Pause } from "../index/measures.ts";
import type { RowBlock } from "../index/row-block.ts";
import {
  collectFigures,
  createMeasures,
  type Figure,
  fieldsOfColumn,
  figureOf,
  type GroupColumnName,
  orderOf,
} from "./group-columns.ts";
import { Interned } from "./interned.ts";
import type { Ratings } from "./ratings.ts";
import type { Places } from "./sums.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** A field that requests are grouped by. */
export type GroupField = StringFieldName | "status";

/** A way to group requests. */
export interface Grouping {
  readonly summary: string;
  /** Name of the group's value in the response. */
  readonly value: string;
  /** Absent: the metadata key or the label in the path. */
  readonly field?: GroupField;
  /** Columns without `columns` in the query. Default all but those of feedback. */
  readonly columns?: readonly GroupColumnName[];
  /** Figures that are strings in the response. */
  readonly asStrings?: readonly string[];
  /** An admin key that names no workspace sees the groups of all. */
  readonly isOrganisationWide?: boolean;
}

const workspaces: Grouping = {
  summary: "Requests by workspace",
  value: "workspace",
  field: "workspace",
  isOrganisationWide: true,
};

/** Every way to group requests, by the end of its path. */
export const groupings: Readonly<Record<string, Grouping>> = {
  users: {
    summary: "Requests by user",
    value: "user",
    field: "endUser",
    columns: ["cost"],
    asStrings: ["requests", "cost"],
  },
  "ai-models": {
    summary: "Requests by model, counts only",
    value: "ai_model",
    field: "model",
    columns: [],
    asStrings: ["requests"],
  },
  "metadata/:metadataKey": {
    summary: "Requests by the value of a metadata key",
    value: "metadata_value",
    columns: ["cost", "avg_tokens", "avg_weighted_feedback", "requests_with_feedback", "last_seen"],
  },
  provider: { summary: "Requests by stored provider", value: "provider", field: "virtualKey" },
  integration: { summary: "Requests by integration", value: "integration", field: "integration" },
  ai_service: { summary: "Requests by provider", value: "ai_service", field: "provider" },
  model: { summary: "Requests by model", value: "model", field: "model" },
  requested_model: { summary: "Requests by the alias that they name", value: "requested_model", field: "alias" },
  status_code: { summary: "Requests by status", value: "status_code", field: "status" },
  mcp_server: { summary: "Requests by MCP server", value: "mcp_server", field: "mcpServer" },
  api_key: { summary: "Requests by API key", value: "api_key", field: "apiKey" },
  region: { summary: "Requests by the label region of their targets", value: "region", field: "region" },
  zero_retention: {
    summary: "Requests by the label zero_retention of their targets",
    value: "zero_retention",
    field: "zeroRetention",
  },
  "labels/:labelName": { summary: "Requests by the value of a label of their targets", value: "label_value" },
  session: { summary: "Requests by session", value: "session_id", field: "session" },
  config: { summary: "Requests by config", value: "config", field: "config" },
  variant: {
    summary: "Requests by the target of their config that responded",
    value: "variant",
    field: "variant",
  },
  prompt: { summary: "Requests by prompt", value: "prompt", field: "prompt" },
  workspace: workspaces,
  workspaces,
};

/** What a call wants of the groups. */
export interface GroupQuery {
  readonly columns: readonly GroupColumnName[];
  /** Undefined: by the group's value. */
  readonly orderBy: GroupColumnName | "requests" | undefined;
  readonly isAscending: boolean;
  readonly hasTotal: boolean;
  readonly page: { readonly offset: number; readonly limit: number };
  readonly readsFeedback: boolean;
}

/** Most groups of a call: they stand in memory until they are sorted. */
const maxGroups = 1_000_000;

/** What groups are made by. */
export interface GroupOptions {
  /** One of `groupings`. */
  readonly grouping: string;
  readonly query: GroupQuery;
  readonly field: GroupField;
  /** What the response shows for the value of a group instead. */
  readonly names?: ReadonlyMap<string, string>;
}

/** What groups are computed with. */
interface GroupTools {
  /** Feedback, if the query reads it and there is any. */
  readonly feedback?: Ratings | undefined;
  /** Strings of the field. */
  readonly vocabulary?: Vocabulary | undefined;
  readonly pause: Pause;
}

/** Columns that are needed to show groups and to order them. */
function neededColumns({ columns, orderBy }: GroupQuery): readonly GroupColumnName[] {
  return orderBy === undefined || orderBy === "requests" ? columns : [...columns, orderBy];
}

/** Fields that groups reveal something of. */
export function fieldsOfGroups({ query, field }: Pick<GroupOptions, "query" | "field">): FieldName[] {
  return [field, ...neededColumns(query).flatMap(fieldsOfColumn)];
}

/** Groups among which the first are, not in order: few of many where the figures are numbers. */
function findFirst(
  figures: readonly Figure[],
  { count, isAscending }: { count: number; isAscending: boolean },
): number[] {
  const groups = Array.from(figures.keys());
  if (count >= figures.length || !figures.every((figure) => typeof figure === "number")) return groups;
  const sorted = Float64Array.from(figures as readonly number[]).sort(); // checked in the line before
  const last = sorted[isAscending ? count - 1 : sorted.length - count] ?? 0;
  return groups.filter((group) => {
    const figure = figures[group] ?? 0;
    return isAscending ? figure <= last : figure >= last;
  });
}

/** For each row of a block the place of its group. */
export function groupPlacesOf(groups: Interned, block: RowBlock, field: GroupField): Places {
  return field === "status" ? groups.placesOfNumbers(block.numbers(field)) : groups.placesOf(block.strings(field));
}

/** The value of a group in the response. */
export function groupValue(text: string, field: GroupField, names?: ReadonlyMap<string, string>): string | number {
  return field === "status" ? Number(text) : (names?.get(text) ?? text);
}

/** Groups of requests while they are found. */
export class GroupRun {
  readonly #grouping: Pick<Grouping, "value" | "asStrings">;
  readonly #query: GroupQuery;
  readonly #field: GroupField;
  readonly #names: ReadonlyMap<string, string> | undefined;
  readonly #groups: Interned;
  readonly #measures: ReturnType<typeof createMeasures>;

  constructor({ grouping, query, field, names }: GroupOptions, { feedback, vocabulary, pause }: GroupTools) {
    this.#groups = new Interned(vocabulary);
    this.#grouping = groupings[grouping] ?? { value: grouping };
    this.#query = query;
    this.#field = field;
    this.#names = names;
    this.#measures = createMeasures(neededColumns(query), feedback, pause);
  }

  get fields() {
    return [...this.#measures.fields, this.#field];
  }

  /** @throws {InvalidRequestError} AB01, if there are too many groups. */
  add(block: RowBlock, isPart: boolean): void {
    const places = groupPlacesOf(this.#groups, block, this.#field);
    const groups = this.#groups.size;
    if (groups > maxGroups) {
      const param = "time_of_generation_min";
      const message = `Invalid request: ${param}: has more than ${maxGroups} groups: ask for less`;
      throw new InvalidRequestError(message, { code: "AB01", param });
    }
    this.#measures.add(block, { places, groups, isPart });
  }

  /** Groups of the page, and how many there are. */
  async finish(): Promise<{ total: number; data: Record<string, unknown>[] }> {
    const { page } = this.#query;
    await collectFigures(this.#measures.tallies, this.#groups.size);
    const end = page.offset + page.limit;
    const order = await this.#order(end);
    const data: Record<string, unknown>[] = [];
    for (const group of order.slice(page.offset, end)) data.push(await this.#toRow(group));
    return { total: this.#groups.size, data };
  }

  /** At least the first groups in the wanted order; those without a figure, and that of rows without a value, stand last. */
  async #order(count: number): Promise<number[]> {
    const { orderBy, isAscending } = this.#query;
    const groups = this.#groups;
    const figures: Figure[] = [];
    for (let group = 0; group < groups.size; group++) {
      if (groups.at(group) === "") {
        figures.push(null);
        continue;
      }
      const figure = orderBy === undefined ? this.#valueOf(group) : orderOf(this.#measures.tallies, orderBy, group);
      figures.push(figure instanceof Promise ? await figure : figure);
    }
    const sign = isAscending ? 1 : -1;
    return findFirst(figures, { count, isAscending }).sort((a, b) => {
      const [one = null, other = null] = [figures[a], figures[b]];
      if (one === null || other === null) return Number(one === null) - Number(other === null) || a - b;
      if (one !== other) return one < other ? -sign : sign;
      return groups.at(a) < groups.at(b) ? -1 : 1;
    });
  }

  #valueOf(group: number): string | number {
    return groupValue(this.#groups.at(group), this.#field, this.#names);
  }

  async #toRow(group: number): Promise<Record<string, unknown>> {
    const row: Record<string, unknown> = { [this.#grouping.value]: this.#valueOf(group) };
    const { asStrings = [] } = this.#grouping;
    for (const name of ["requests" as const, ...this.#query.columns]) {
      const figure = await figureOf(this.#measures.tallies, name, group);
      row[name] = asStrings.includes(name) ? String(figure) : figure;
    }
    return { ...row, object: "analytics-group" };
  }
}
