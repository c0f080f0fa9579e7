import type { LogScope } from "../../src/db/stores/log-scope.ts";
import type { LogDetails } from "../../src/schemas/logs.ts";
import { plainDetails } from "./log-record.ts";

/** A source of choices, the same for a seed. */
export interface Choices {
  below(count: number): number;
  pick<Item>(items: readonly Item[]): Item;
}

/** Feedback of a trace. */
export interface Rating {
  organisationId: string;
  workspaceId: string;
  traceId: string;
  value: number;
  weight: number;
}

/** A query of a list, and the same on a row. */
export interface ChosenQuery {
  text: string;
  isMet(row: LogDetails): boolean;
}

/** Members of rows that filters compare. */
function randomMembers({ below, pick }: Choices): Partial<LogDetails> {
  const [input, output] = [below(50), below(50)];
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output };
  return {
    usage: pick<unknown>([null, usage, usage]) as LogDetails["usage"], // the rest is not compared
    span_id: pick([null, `s${below(20)}`]),
    ...(below(2) === 0 && { virtual_key: `v${below(3)}` }),
    ...(below(2) === 0 && { config: `c${below(3)}` }),
    ...(below(3) === 0 && { prompt_slug: `p${below(3)}` }),
  };
}

/** A row of a tenant. */
export function randomRow(
  choices: Choices,
  own: Pick<LogDetails, "id" | "organisation_id" | "workspace_id">,
): LogDetails {
  const { below, pick } = choices;
  const metadata: Record<string, string> = {};
  if (below(2) === 0) metadata._user = `u${below(4)}`;
  for (const key of ["team", "Ünit", "a.b"]) if (below(3) === 0) metadata[key] = `${key} ${below(3)}`;
  // more keys than have a column
  if (below(4) === 0) metadata[`key-${below(200)}`] = `value ${below(2)}`;
  return {
    ...plainDetails,
    ...own,
    api_key_id: `k${below(5)}`,
    status: pick([200, 200, 429, 500]),
    provider: pick([null, "echo", "openai"]),
    model: pick([null, "m1", "m2", 'm"3', "m\0"]),
    trace_id: `t${below(30)}`,
    stream: below(2) === 0,
    metadata,
    cost: pick([null, 0, 0.0000001, 12.5, 1e12]),
    duration_ms: below(100_000) / 100,
    error: pick([null, { type: "x", code: null, message: "m" }, { type: "x", code: "c", message: "m" }]),
    ...randomMembers(choices),
    ...(below(3) === 0 && { user_id: `user ${below(3)}` }),
  };
}

type NumberOf = (row: LogDetails) => number | null | undefined;
type TextOf = (row: LogDetails) => string | null | undefined;

const numberFilters: readonly [string, NumberOf, number][] = [
  ["total_units", ({ usage }) => usage?.total_tokens, 100],
  ["prompt_token", ({ usage }) => usage?.input_tokens, 50],
  ["completion_token", ({ usage }) => usage?.output_tokens, 50],
  ["cost", ({ cost }) => cost, 13],
];
const textFilters: readonly [string, TextOf, readonly string[]][] = [
  ["virtual_keys", (row) => row.virtual_key, ["v0", "v1", "v9"]],
  ["configs", (row) => row.config, ["c0", "c1", "c9"]],
  ["prompt_slug", (row) => row.prompt_slug, ["p0", "p1", "p9"]],
  ["api_key_ids", (row) => row.api_key_id, ["k0", "k1", "k9"]],
  ["ai_model", (row) => row.model, ["m1", "m2", "m9"]],
  ["trace_id", (row) => row.trace_id, ["t0", "t1", "t2", "t3", "t99"]],
  ["span_id", (row) => row.span_id, ["s0", "s1", "s2", "s99"]],
  ["status_code", (row) => String(row.status), ["200", "429", "418"]],
];

function numberFilter({ below, pick }: Choices): ChosenQuery {
  const [name, of, most] = pick(numberFilters);
  const ends = [below(most), below(most)].sort((a, b) => a - b);
  const [least = 0, largest = 0] = ends;
  const [hasLeast, hasMost] = pick([
    [true, false],
    [false, true],
    [true, true],
  ] as const);
  const parts = [...(hasLeast ? [`${name}_min=${least}`] : []), ...(hasMost ? [`${name}_max=${largest}`] : [])];
  return {
    text: parts.join("&"),
    isMet(row) {
      const value = of(row);
      if (value === null || value === undefined) return false;
      return (!hasLeast || value >= least) && (!hasMost || value <= largest);
    },
  };
}

function textFilter({ below, pick }: Choices): ChosenQuery {
  const [name, of, values] = pick(textFilters);
  const wanted = new Set(Array.from({ length: 1 + below(3) }, () => pick(values)));
  return { text: `${name}=${[...wanted].join(",")}`, isMet: (row) => wanted.has(of(row) ?? "-") };
}

function modelFilter({ pick }: Choices): ChosenQuery {
  const pairs = pick([
    [["echo", "m1"]],
    [
      ["echo", "m1"],
      ["openai", "m2"],
    ],
    [
      ["openai", 'm"3'],
      ["echo", "m9"],
    ],
  ]);
  return {
    text: `ai_org_model=${encodeURIComponent(pairs.map((pair) => pair.join("__")).join(","))}`,
    isMet: (row) => pairs.some(([provider, model]) => row.provider === provider && row.model === model),
  };
}

function metadataFilter({ below, pick }: Choices): ChosenQuery {
  const entries = pick([
    [["_user", `u${below(4)}`]],
    [["team", `team ${below(3)}`]],
    [
      ["team", `team ${below(3)}`],
      ["a.b", `a.b ${below(3)}`],
    ],
    [[`key-${below(200)}`, "value 1"]],
  ] as [string, string][][]);
  return {
    text: `metadata=${encodeURIComponent(JSON.stringify(Object.fromEntries(entries)))}`,
    isMet: ({ metadata }) => entries.every(([key, value]) => metadata[key] === value),
  };
}

function ratingFilter({ below }: Choices, ratings: readonly Rating[]): ChosenQuery {
  const least = below(15) - 8;
  return {
    text: `weighted_feedback_min=${least}&weighted_feedback_max=${least + 4}`,
    isMet(row) {
      const own = ratings.filter(
        ({ organisationId, workspaceId, traceId }) =>
          organisationId === row.organisation_id && workspaceId === row.workspace_id && traceId === row.trace_id,
      );
      const mean = own.reduce((sum, { value, weight }) => sum + value * weight, 0) / own.length;
      return mean >= least && mean <= least + 4;
    },
  };
}

/** A query with one to three filters that lists have in common with analytics and exports. */
export function randomQuery(choices: Choices, ratings: readonly Rating[]): ChosenQuery {
  const makers = [numberFilter, textFilter, modelFilter, metadataFilter, (one: Choices) => ratingFilter(one, ratings)];
  const filters = new Map<string, ChosenQuery>();
  for (let count = choices.pick([1, 1, 2, 3]); count > 0; count--) {
    const made = choices.pick(makers)(choices);
    // a filter is given once
    const [name = ""] = new URLSearchParams(made.text).keys();
    filters.set(name.replace(/_m(?:in|ax)$/, ""), made);
  }
  const all = [...filters.values()];
  return { text: all.map(({ text }) => text).join("&"), isMet: (row) => all.every(({ isMet }) => isMet(row)) };
}

/** Random feedback of a trace of one workspace. */
export function randomRating({ below, pick }: Choices, scopes: readonly LogScope[]): Rating {
  const { organisationId, workspaceId } = pick(scopes);
  const [value, weight] = [below(21) - 10, pick([1, 0.5, 0.25])];
  return { organisationId, workspaceId: workspaceId ?? "w1", traceId: `t${below(30)}`, value, weight };
}
