import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { scopesOfKind } from "../../src/auth/scopes.ts";
import { createFeedbackStore } from "../../src/db/stores/feedback.ts";
import { timeOfId } from "../../src/lib/ids.ts";
import type { LogDetails } from "../../src/schemas/logs.ts";
import { createLogReaderThread } from "../../src/serve/log-reader-thread.ts";
import {
  graphNames,
  percentile,
  pick,
  type Rating,
  type RowFilter,
  randomRows,
  recomputeCacheSummary,
  recomputeGraph,
  recomputeGroup,
  storeRows,
  whole,
} from "../support/analytics.ts";
import { call, createOrganisation, done } from "../support/control.ts";
import { adminKey, createRandom, createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { addPerson } from "../support/people.ts";

type Figures = Record<string, unknown>;

const random = createRandom(20260131);
const start = Date.UTC(2026, 0, 1);
const ratings: Rating[] = [];
let rows: LogDetails[] = [];
/** Rows of another workspace of the organisation. */
let siblings: LogDetails[] = [];
let gateway: TestGateway;
let own = { organisationId: "", workspaceId: "" };

before(async () => {
  // as hosts do: the answers come from another thread
  gateway = await createTestGateway({ inFile: true, createLogReader: createLogReaderThread });
  const { data } = await done<{ data: { id: string; organisation_id: string }[] }>(
    call(gateway, "GET /admin/workspaces"),
  );
  own = { organisationId: data[0]?.organisation_id ?? "", workspaceId: data[0]?.id ?? "" };
  const database = await gateway.openFile();
  const foreign = await createOrganisation(database, "other");
  const sibling = await done<{ id: string }>(call(gateway, "POST /admin/workspaces", { body: { name: "Sibling" } }));
  // the same time and the same traces: only the tenant differs
  for (const tenant of [foreign, { ...own, workspaceId: sibling.id }]) {
    siblings = randomRows(random, tenant, { count: 300, start, stepMs: 400_000 });
    await storeRows(database, random, { tenant, rows: siblings, tail: 2 });
  }
  rows = randomRows(random, own, { count: 1_200, start, stepMs: 200_000 });
  await storeRows(database, random, { tenant: own, rows, tail: 9 });
  for (let index = 0; index < 150; index++) {
    const weight = pick(random, [0, 0.25, 0.5, 1]);
    ratings.push({ trace_id: `trace-${Math.floor(random() * 500)}`, value: Math.floor(random() * 21) - 10, weight });
  }
  const send = (body: unknown, key: string) => done(call(gateway, "POST /feedback", { key, body }));
  for (let at = 0; at < ratings.length; at += 50) await send(ratings.slice(at, at + 50), workspaceKey);
  const noise = Array.from({ length: 90 }, (_, index) => ({ trace_id: `trace-${index}`, value: 10 }));
  const { organisationId, workspaceId } = foreign;
  await createFeedbackStore(database).add(
    { organisationId, workspaceId },
    noise.map(({ trace_id, value }) => ({
      id: crypto.randomUUID(),
      organisationId,
      workspaceId,
      apiKeyId: "key-1",
      traceId: trace_id,
      value,
      weight: 1,
      metadata: {},
      createdAt: start,
      lastUpdatedAt: 0,
    })),
  );
});

// first: the index takes in what is behind them after a while
test("the rows lie in several segments and behind them", async () => {
  const database = await gateway.openFile();
  const { rows: found } = await database.read(
    "SELECT (SELECT count(*) FROM log_segments) AS segments, (SELECT count(*) FROM log_batches WHERE seq > (SELECT max(last_seq) FROM log_segments)) AS tail",
  );
  assert.ok(Number(found[0]?.segments) > 3 && Number(found[0]?.tail) > 3, JSON.stringify(found));
});

after(() => gateway.close());

const list = (text: string) => text.split(",");
const within = (value: number | null | undefined, least: number, most: number) =>
  value !== null && value !== undefined && value >= least && value <= most;
const meanRating = (trace: string): number | undefined => {
  const found = ratings.filter(({ trace_id }) => trace_id === trace);
  const total = found.reduce((sum, { value, weight }) => sum + value * weight, 0);
  return found.length === 0 ? undefined : total / found.length;
};

const variantOf = (attempts: LogDetails["attempts"]) => attempts?.at(-1)?.name ?? attempts?.at(-1)?.label ?? "";

/** Every filter, with the rows it must find. */
const filters: Readonly<Record<string, RowFilter>> = {
  none: { query: {}, test: () => true },
  total_units: {
    query: { total_units_min: "1000", total_units_max: "4000" },
    test: ({ usage }) => within(usage?.total_tokens, 1_000, 4_000),
  },
  prompt_token: { query: { prompt_token_max: "2500" }, test: ({ usage }) => within(usage?.input_tokens, 0, 2_500) },
  "prompt_token between": {
    query: { prompt_token_min: "700", prompt_token_max: "2500" },
    test: ({ usage }) => within(usage?.input_tokens, 700, 2_500),
  },
  completion_token: {
    query: { completion_token_min: "400" },
    test: ({ usage }) => within(usage?.output_tokens, 400, 1e9),
  },
  "completion_token below": {
    query: { completion_token_max: "300" },
    test: ({ usage }) => within(usage?.output_tokens, 0, 300),
  },
  "several filters": {
    query: { ai_org_model: "openai__m-1,anthropic__m__3", weighted_feedback_min: "-5", completion_token_max: "700" },
    test: ({ provider, model, trace_id, usage }) =>
      ["openai__m-1", "anthropic__m__3"].includes(`${provider}__${model}`) &&
      within(meanRating(trace_id), -5, 10) &&
      within(usage?.output_tokens, 0, 700),
  },
  cost: { query: { cost_min: "0.25", cost_max: "0.75" }, test: ({ cost }) => within(cost, 0.25, 0.75) },
  status_code: { query: { status_code: "429, 503" }, test: ({ status }) => [429, 503].includes(status) },
  "status_code class": {
    query: { status_code: "429,5xx" },
    test: ({ status }) => status === 429 || (status >= 500 && status <= 599),
  },
  virtual_keys: { query: { virtual_keys: "main,other" }, test: (row) => row.virtual_key === "main" },
  configs: { query: { configs: "pc-b" }, test: ({ config }) => config === "pc-b" },
  prompt_slug: { query: { prompt_slug: "pp-a,pp-b" }, test: (row) => row.prompt_slug !== undefined },
  trace_id: {
    query: { trace_id: "trace-1,trace-2,trace-77" },
    test: ({ trace_id }) => list("trace-1,trace-2,trace-77").includes(trace_id),
  },
  session_id: {
    query: { session_id: "session-3,session-4" },
    test: ({ session_id }) => ["session-3", "session-4"].includes(session_id ?? ""),
  },
  span_id: { query: { span_id: "span-3,span-4" }, test: ({ span_id }) => ["span-3", "span-4"].includes(span_id ?? "") },
  api_key_ids: { query: { api_key_ids: "key-2" }, test: (row) => row.api_key_id === "key-2" },
  metadata: {
    query: { metadata: '{"team":"red","odd \\"key\\"":"x"}' },
    test: ({ metadata }) => metadata.team === "red" && metadata['odd "key"'] === "x",
  },
  ai_org_model: {
    query: { ai_org_model: "openai__m-1,anthropic__m__3" },
    test: ({ provider, model }) => ["openai__m-1", "anthropic__m__3"].includes(`${provider}__${model}`),
  },
  weighted_feedback: {
    query: { weighted_feedback_min: "-2", weighted_feedback_max: "3" },
    test: ({ trace_id }) => within(meanRating(trace_id), -2, 3),
  },
  aliases: {
    query: { requested_model: "fast,other" },
    test: (row) => row.requested_model === "fast",
  },
  labels: {
    query: { region: "eu,ch", zero_retention: "true" },
    test: ({ labels }) => ["eu", "ch"].includes(String(labels?.region)) && labels?.zero_retention === true,
  },
  "free labels": {
    query: { labels: '{"tier":"gold","region":"us"}' },
    test: ({ labels }) => labels?.tier === "gold" && labels.region === "us",
  },
  "a label that is true": {
    query: { labels: '{"fast":true}' },
    test: ({ labels }) => labels?.fast === true,
  },
  variant: {
    query: { variant: "candidate,config.targets[0]" },
    test: ({ attempts }) => ["candidate", "config.targets[0]"].includes(variantOf(attempts)),
  },
  copies: { query: { shadow: "true" }, test: (row) => row.shadow_of !== undefined },
  "no copies": { query: { shadow: "false" }, test: (row) => row.shadow_of === undefined },
  "copies of a row": { query: { shadow_of: "row-1,row-3" }, test: (row) => row.shadow_of === "row-1" },
  cache_status: {
    query: { cache_status: "HIT,semantic_hit" },
    test: (row) => ["HIT", "SEMANTIC HIT"].includes(row.cache_status ?? ""),
  },
  "no cache": {
    query: { cache_status: "DISABLED,MISS" },
    test: (row) => ["DISABLED", "MISS"].includes(row.cache_status ?? "DISABLED"),
  },
  source: { query: { source: "gateway,otel" }, test: ({ source }) => source !== "console" },
  "other sources": { query: { source: "console" }, test: ({ source }) => source === "console" },
  nothing: { query: { virtual_keys: "absent" }, test: () => false },
};

const hour = 3_600_000;
/** Periods with points of each width. */
const periods = {
  minutes: { from: start + 20 * hour + 1, to: start + 21 * hour },
  hours: { from: start + 7.5 * hour, to: start + 31.5 * hour },
  days: { from: start - 1, to: start + 60 * 24 * hour },
  weeks: { from: start - 100 * 24 * hour, to: start + 60 * 24 * hour },
};

/** Numbers may differ where the order of additions does. */
function assertClose(actual: unknown, wanted: unknown, path: string): void {
  if (typeof actual === "number" && typeof wanted === "number") {
    assert.ok(Math.abs(actual - wanted) <= 1e-9 * Math.max(1, Math.abs(wanted)), `${path}: ${actual}, not ${wanted}`);
  } else if (typeof wanted === "object" && wanted !== null && typeof actual === "object" && actual !== null) {
    assert.deepEqual(Object.keys(actual), Object.keys(wanted), path);
    for (const [name, value] of Object.entries(wanted))
      assertClose(Reflect.get(actual, name), value, `${path}.${name}`);
  } else {
    assert.equal(actual, wanted, path);
  }
}

function toQuery({ from, to }: { from: number; to: number }, query: Readonly<Record<string, string>> = {}): string {
  const times = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
  return `${new URLSearchParams({ time_of_generation_min: times.from, time_of_generation_max: times.to, ...query })}`;
}

const read = <Response = Figures>(path: string, key: string = workspaceKey) =>
  done<Response>(call(gateway, `GET /analytics/${path}`, { key }));

function rowsOf({ from, to }: { from: number; to: number }, { test: isWanted }: RowFilter): LogDetails[] {
  return rows.filter((row) => timeOfId(row.id) >= from && timeOfId(row.id) <= to && isWanted(row));
}

for (const name of graphNames) {
  test(`graphs/${name} is what a slow computation from the rows gives, for every filter and width of points`, async () => {
    for (const [filterName, filter] of Object.entries(filters)) {
      const period = filterName === "none" ? Object.values(periods) : [periods.days];
      for (const { from, to } of period) {
        const shown = await read(`graphs/${name}?${toQuery({ from, to }, filter.query)}`);
        const wanted = recomputeGraph(name, { all: rowsOf({ from, to }, filter), from, to, ratings });
        assertClose(shown, wanted, `${name} ${filterName}`);
      }
    }
  });
}

/** Paths of a released client, and those of the same graphs that are named by their figures. */
const spellings: Readonly<Record<string, string>> = {
  "users-requests": "users/requests",
  "errors-rate": "errors/rate",
  "errors-stack": "errors/stacks",
  "errors-status-code": "errors/status-codes",
  "requests-rescued": "requests/rescued",
  "cache-hit-rate": "cache/hit-rate",
  "cache-latency": "cache/latency",
  "feedbacks/score": "feedbacks/scores",
};

for (const [path, name] of Object.entries(spellings)) {
  test(`graphs/${path} is graphs/${name}, also with the parameters of groups`, async () => {
    const query = toQuery(periods.days, {});
    const more = "&order_by=requests&order_by_type=desc&page_size=10";
    assert.deepEqual(await read(`graphs/${path}?${query}${more}`), await read(`graphs/${name}?${query}`));
  });
}

test("every filter that analytics document is among those of the tests, and so is every endpoint", async () => {
  const response = await gateway.fetch("/openapi.json");
  const { paths } = await response.json();
  const documented = Object.entries<{ get: { parameters: { name: string; in: string }[] } }>(paths).filter(([path]) =>
    path.startsWith("/v1/analytics/"),
  );
  const tested = new Set(Object.values(filters).flatMap(({ query }) => Object.keys(query)));
  const others = [
    "workspace_slug",
    "time_of_generation_min",
    "time_of_generation_max",
    "current_page",
    "page_size",
    "columns",
    "order_by",
    "order_by_type",
    "include_total",
    // of series, which tests/admin/series.test.ts has
    "figure",
    "top",
  ];
  const known = new Set([
    ...graphNames.map((name) => `graphs/${name}`),
    ...Object.keys(groupings).map(
      (name) =>
        `groups/${name.replace(/^metadata\/.*/, "metadata/{metadataKey}").replace(/^labels\/.*/, "labels/{labelName}")}`,
    ),
    ...Object.keys(spellings).map((path) => `graphs/${path}`),
    "summary/cache",
    "summary/requests",
    "groups/workspace",
    "groups/workspaces",
  ]);
  // a series is of the same groups, over time
  const nameOf = (path: string) => path.slice("/v1/analytics/".length).replace("series/", "groups/");
  for (const [path, { get }] of documented) {
    assert.ok(known.has(nameOf(path)), path);
    for (const { name, in: place } of get.parameters) {
      if (place === "query" && !others.includes(name)) assert.ok(tested.has(name), `${path}: ${name}`);
    }
  }
  assert.equal(new Set(documented.map(([path]) => nameOf(path))).size, known.size);
});

test("the filters of the tests find some rows, and not all", () => {
  for (const [name, filter] of Object.entries(filters)) {
    const { length } = rowsOf(periods.days, filter);
    const isSpecial = name === "none" || name === "nothing";
    assert.ok(isSpecial || (length > 0 && length < rows.length), `${name}: ${length}`);
  }
});

test("summary/cache is what a slow computation from the rows gives, for every filter", async () => {
  for (const [name, filter] of Object.entries(filters)) {
    const shown = await read(`summary/cache?${toQuery(periods.days, filter.query)}`);
    const summary = recomputeCacheSummary(rowsOf(periods.days, filter));
    assertClose(shown, { summary, object: "analytics-summary" }, name);
  }
});

function periodFigures(all: readonly LogDetails[]): Figures {
  const requests = whole(all);
  const durations = requests.map(({ duration_ms }) => duration_ms);
  const sum = (numbers: readonly (number | null | undefined)[]) => numbers.reduce<number>((a, b) => a + (b ?? 0), 0);
  return {
    requests: requests.length,
    error_count: requests.filter(({ status }) => !within(status, 200, 299) && status !== 101).length,
    cost: sum(all.map(({ cost }) => cost)),
    total_tokens: sum(all.map(({ usage }) => usage?.total_tokens)),
    cache_hits: requests.filter((row) => ["HIT", "SEMANTIC HIT"].includes(row.cache_status ?? "")).length,
    avg_latency: sum(durations) / Math.max(1, durations.length),
    ...Object.fromEntries([50, 95, 99].map((part) => [`p${part}_latency`, percentile(durations, part / 100) ?? 0])),
  };
}

/** A day with a day before it, and periods with points of other widths. */
const comparedPeriods = [
  { from: start + 24 * hour, to: start + 48 * hour },
  { from: start + 20.5 * hour, to: start + 21.25 * hour },
  { from: start + 30 * hour, to: start + 80 * hour },
];

test("summary/requests is what a slow computation from the rows gives, for the period, its points and the period before", async () => {
  for (const [name, filter] of Object.entries(filters)) {
    for (const { from, to } of name === "none" ? comparedPeriods : comparedPeriods.slice(0, 1)) {
      const { summary, former, data_points } = await read<
        Record<"summary" | "former", Figures> & { data_points: Figures[] }
      >(`summary/requests?${toQuery({ from, to }, filter.query)}`);
      assertClose(summary, periodFigures(rowsOf({ from, to }, filter)), `${name} summary`);
      const before = { from: from - (to - from) - 1, to: from - 1 };
      assertClose(former, periodFigures(rowsOf(before, filter)), `${name} former`);
      const times = data_points.map(({ timestamp }) => Date.parse(String(timestamp)));
      assert.ok(times.length > 1 && (times[0] ?? 0) <= from);
      for (const [at, { timestamp, ...point }] of data_points.entries()) {
        const period = { from: Math.max(from, times[at] ?? 0), to: Math.min(to, (times[at + 1] ?? to + 1) - 1) };
        assertClose(point, periodFigures(rowsOf(period, filter)), `${name} ${timestamp}`);
      }
    }
  }
});

test("workspace_slug=* shows an admin key all workspaces, and a workspace key its own", async () => {
  const requests = async (path: string, key: string) => {
    const { summary } = await read<{ summary: Figures }>(
      `${path}?${toQuery(periods.days, { workspace_slug: "*" })}`,
      key,
    );
    return summary.requests ?? summary.total;
  };
  for (const path of ["summary/requests", "graphs/requests"]) {
    assert.equal(await requests(path, adminKey), whole(rows).length + whole(siblings).length, path);
    assert.equal(await requests(path, workspaceKey), whole(rows).length, path);
  }
});

test("what an organisation denies is in no figure, group or filter of analytics", async () => {
  const { id } = await done<{ data: { id: string } }>(call(gateway, "GET /organisations/self", { key: adminKey })).then(
    ({ data }) => data,
  );
  const deny = (deniedFields: readonly string[]) =>
    done(call(gateway, `PUT /organisations/${id}`, { key: adminKey, body: { export_settings: { deniedFields } } }));
  try {
    for (const [field, path, query] of [
      ["cost", "graphs/cost", {}],
      ["cost", "graphs/cache/hit-rate", {}],
      ["cost", "graphs/requests", { cost_min: "1" }],
      ["cost", "groups/model", { columns: "cost" }],
      ["cost", "groups/model", { columns: "requests", order_by: "cost" }],
      ["ai_model", "groups/model", { columns: "requests" }],
      ["ai_model", "graphs/feedbacks/ai-models", {}],
      ["metadata", "groups/metadata/team", {}],
      ["metadata", "groups/users", {}],
      ["metadata", "graphs/requests", { metadata: '{"team":"red"}' }],
      ["response_time", "graphs/latency", {}],
      ["response_time", "summary/cache", {}],
      ["response_status_code", "graphs/errors", {}],
      ["trace_id", "graphs/requests", { trace_id: "trace-1" }],
    ] as const) {
      await deny([]);
      await read(`${path}?${toQuery(periods.days, query)}`);
      await deny([field]);
      for (const key of [workspaceKey, adminKey]) {
        const refused = await call(gateway, `GET /analytics/${path}?${toQuery(periods.days, query)}`, { key });
        assert.deepEqual([refused.status, Reflect.get(Object(refused.body.error), "param")], [403, field], path);
      }
      const { data } = await read<{ data: object[] }>(`groups/config?${toQuery(periods.days)}`);
      assert.ok(data.every((group) => "requests" in group && "cost" in group === (field !== "cost")));
      const { summary, former } = await read<Record<"summary" | "former", Figures>>(
        `summary/requests?${toQuery(periods.days)}`,
      );
      for (const figures of [summary, former]) {
        assert.ok("requests" in figures && "cost" in figures === (field !== "cost"));
        assert.equal("p95_latency" in figures, field !== "response_time");
        assert.equal("error_count" in figures, field !== "response_status_code");
      }
    }
  } finally {
    await deny([]);
  }
});

const columns =
  "cost,total_tokens,avg_tokens,avg_input_tokens,avg_output_tokens,avg_latency,p95_latency,p99_latency,p95_first_token,success_rate,error_count,cache_hit_rate,first_seen,last_seen,avg_weighted_feedback,requests_with_feedback";

/** Group endpoints: the name of the value, and the value of a row. */
const groupings: Readonly<Record<string, readonly [value: string, of: (row: LogDetails) => string | number]>> = {
  users: ["user", ({ metadata }) => metadata._user ?? ""],
  "ai-models": ["ai_model", ({ model }) => model ?? ""],
  "metadata/team": ["metadata_value", ({ metadata }) => metadata.team ?? ""],
  "metadata/odd%20%22key%22": ["metadata_value", ({ metadata }) => metadata['odd "key"'] ?? ""],
  provider: ["provider", (row) => row.virtual_key ?? ""],
  integration: ["integration", (row) => row.integration_id ?? ""],
  ai_service: ["ai_service", ({ provider }) => provider ?? ""],
  model: ["model", ({ model }) => model ?? ""],
  status_code: ["status_code", ({ status }) => status],
  api_key: ["api_key", (row) => row.api_key_id],
  session: ["session_id", (row) => row.session_id ?? ""],
  mcp_server: ["mcp_server", ({ mcp }) => mcp?.server ?? ""],
  config: ["config", ({ config }) => config ?? ""],
  prompt: ["prompt", (row) => row.prompt_slug ?? ""],
  variant: ["variant", ({ attempts }) => variantOf(attempts)],
  "labels/tier": ["label_value", ({ labels }) => String(labels?.tier ?? "")],
  "labels/fast": ["label_value", ({ labels }) => String(labels?.fast ?? "")],
  "labels/region": ["label_value", ({ labels }) => String(labels?.region ?? "")],
  requested_model: ["requested_model", (row) => row.requested_model ?? ""],
  region: ["region", ({ labels }) => String(labels?.region ?? "")],
  zero_retention: ["zero_retention", ({ labels }) => String(labels?.zero_retention ?? "")],
};

interface GroupList {
  total: number;
  data: Figures[];
}

for (const [name, [value, of]] of Object.entries(groupings)) {
  test(`groups/${name} is what a slow computation from the rows gives, for every filter`, async () => {
    for (const filter of Object.values(filters)) {
      const found = rowsOf(periods.days, filter);
      const query = toQuery(periods.days, { ...filter.query, columns });
      const { total, data } = (await read(`groups/${name}?${query}`)) as unknown as GroupList; // the shape of groups
      const values = [...new Set(found.map(of))];
      assert.deepEqual([total, data.length], [values.length, values.length]);
      for (const { [value]: shown, object, ...figures } of data) {
        assert.equal(object, "analytics-group");
        const wanted = recomputeGroup(
          found.filter((row) => of(row) === shown),
          ratings,
        );
        const numbers = ["users", "ai-models"].includes(name)
          ? Object.keys(wanted).filter((one) => typeof figures[one] === "string" && !one.endsWith("_seen"))
          : [];
        for (const one of numbers) figures[one] = Number(figures[one]);
        assertClose(
          Object.fromEntries(Object.keys(wanted).map((one) => [one, figures[one]])),
          wanted,
          `${name} ${shown}`,
        );
        assert.equal(Object.keys(figures).length, Object.keys(wanted).length);
      }
      // the group of rows without a value stands last
      const named = data.filter((group) => group[value] !== "");
      assert.deepEqual(data.slice(0, named.length), named);
      const counts = named.map(({ requests }) => Number(requests));
      assert.deepEqual(
        counts,
        counts.toSorted((a, b) => b - a),
      );
    }
  });
}

test("groups are paged and ordered, with or without their number", async () => {
  const page = async (query: Record<string, string>) =>
    (await read(`groups/api_key?${toQuery(periods.days, query)}`)) as unknown as GroupList; // the shape of groups
  const keys = ({ data }: GroupList) => data.map(({ api_key }) => api_key);
  assert.deepEqual(keys(await page({ order_by: "api_key", order_by_type: "asc" })), ["key-1", "key-2", "key-3"]);
  assert.deepEqual(keys(await page({ order_by: "api_key" })), ["key-3", "key-2", "key-1"]);
  const second = await page({ order_by: "api_key", page_size: "2", current_page: "1" });
  assert.deepEqual([keys(second), second.total], [["key-1"], 3]);
  assert.deepEqual(keys(await page({ page_size: "2", current_page: "2" })), []);
  assert.equal("total" in (await page({ include_total: "false" })), false);
  for (const column of columns.split(",")) {
    const { data } = await page({ columns: column, order_by: column, order_by_type: "asc" });
    const figures = data.map((group) => group[column]);
    assert.deepEqual(Object.keys(data[0] ?? {}), ["api_key", "requests", column, "object"]);
    const sorted = figures.toSorted((a, b) => (String(a) === String(b) ? 0 : (a ?? 0) < (b ?? 0) ? -1 : 1));
    assert.deepEqual(figures, sorted, column);
  }
});

test("groups by workspace: an admin key sees all of its organisation's, a workspace key its own", async () => {
  const groups = async (query: string, key?: string) => {
    const { data } = (await read(`groups/workspaces?${query}`, key)) as unknown as GroupList; // the shape of groups
    return data.map(({ workspace, requests }) => `${workspace} ${requests}`);
  };
  const [all, one] = [toQuery(periods.days), toQuery(periods.days, { workspace_slug: "default" })];
  const seen = await groups(all, adminKey);
  assert.deepEqual([seen.length, seen[0]], [2, `default ${whole(rows).length}`]);
  assert.match(seen[1] ?? "", /^ws-siblin.* \d+$/);
  assert.deepEqual(await groups(one, adminKey), [`default ${whole(rows).length}`]);
  assert.deepEqual(await groups(all, workspaceKey), [`default ${whole(rows).length}`]);
});

const total = async (query: string, key: string) => {
  const { summary } = await read(`graphs/requests?${query}`, key);
  return Reflect.get(Object(summary), "total");
};

test("an admin key names a workspace by slug or id, else it is the default one; a workspace key stays in its own", async () => {
  const { data } = await done<{ data: { id: string; slug: string }[] }>(call(gateway, "GET /admin/workspaces"));
  const sibling = data.find(({ id }) => id !== own.workspaceId) ?? { id: "", slug: "" };
  const of = (query: Record<string, string>) => toQuery(periods.days, query);
  const inSibling = whole(siblings).length;
  assert.equal(await total(of({}), adminKey), whole(rows).length);
  for (const query of [
    { workspace_slug: sibling.slug },
    { workspace_slug: sibling.id },
    { workspace_id: sibling.id },
  ]) {
    assert.equal(await total(of(query), adminKey), inSibling);
    assert.equal(await total(of(query), workspaceKey), whole(rows).length);
  }
});

test("a workspace of another organisation is refused like one that does not exist", async () => {
  const database = await gateway.openFile();
  const { rows: found } = await database.read({
    sql: "SELECT id FROM workspaces WHERE organisation_id <> ?",
    args: [own.organisationId],
  });
  for (const workspace_slug of [String(found[0]?.id), "nowhere"]) {
    const query = toQuery(periods.days, { workspace_slug });
    const { status, body } = await call(gateway, `GET /analytics/graphs/requests?${query}`);
    assert.deepEqual([status, Reflect.get(Object(body.error), "param")], [403, "workspace_slug"]);
  }
});

test("a role without membersViewAllData sees figures of rows by its keys, without membersViewAnalytics none", async () => {
  const member = await addPerson(gateway, "member@example.test", {
    workspaces: [{ id: "default", role: "member" }],
    scopes: scopesOfKind("workspace-user"),
  });
  const database = await gateway.openFile();
  const mine = randomRows(random, own, { count: 20, start: periods.weeks.from, stepMs: 1_000 }).map((row) => ({
    ...row,
    api_key_id: member.keyId,
    user_id: member.id,
    metadata: { team: "mine" },
  }));
  await storeRows(database, random, { tenant: own, rows: mine, tail: 9 });
  const query = toQuery(periods.weeks);
  const set = (security_settings: Record<string, boolean>) =>
    done(call(gateway, `PUT /organisations/${own.organisationId}`, { body: { security_settings } }));
  assert.equal(await total(query, member.key), whole([...rows, ...mine]).length);
  await set({ membersViewAllData: false });
  assert.equal(await total(query, member.key), whole(mine).length);
  const { data } = (await read(`groups/metadata/team?${query}`, member.key)) as unknown as GroupList; // the shape of groups
  assert.deepEqual(
    data.map(({ metadata_value, requests }) => [metadata_value, requests]),
    [["mine", whole(mine).length]],
  );
  assert.equal(await total(query, workspaceKey), whole([...rows, ...mine]).length);
  await set({ membersViewAllData: true, membersViewAnalytics: false });
  assert.equal((await call(gateway, `GET /analytics/graphs/cost?${query}`, { key: member.key })).status, 403);
  await set({ membersViewAnalytics: true });
});

const times = { time_of_generation_min: "2026-01-01T00:00:00Z", time_of_generation_max: "2026-01-02T00:00:00+01:00" };
for (const [name, changes, param] of [
  ["no start", { time_of_generation_min: "" }, "time_of_generation_min"],
  ["no end", { time_of_generation_max: "" }, "time_of_generation_max"],
  ["no time", { time_of_generation_min: "yesterday" }, "time_of_generation_min"],
  ["a day that does not exist", { time_of_generation_max: "2026-13-01" }, "time_of_generation_max"],
  ["30 February", { time_of_generation_min: "2025-02-30T00:00:00Z" }, "time_of_generation_min"],
  ["an inverted period", { time_of_generation_max: "2025-12-31" }, "time_of_generation_max"],
  ["a period of ages", { time_of_generation_max: "2999-01-01" }, "time_of_generation_max"],
  ["an infinite number", { cost_max: "Infinity" }, "cost_max"],
  ["a number beyond all", { cost_max: "1e999" }, "cost_max"],
  ["a negative number", { total_units_min: "-1" }, "total_units_min"],
  ["a fraction of a token", { prompt_token_min: "1.5" }, "prompt_token_min"],
  ["inverted bounds", { cost_min: "2", cost_max: "1" }, "cost_max"],
  ["no status", { status_code: "200,ok" }, "status_code"],
  ["feedback out of bounds", { weighted_feedback_max: "11" }, "weighted_feedback_max"],
  ["metadata that is no JSON", { metadata: "team=red" }, "metadata"],
  ["metadata that is a list", { metadata: "[1]" }, "metadata"],
  ["metadata with an object", { metadata: '{"a":{}}' }, "metadata"],
  ["half a model", { ai_org_model: "openai" }, "ai_org_model"],
  ["a page that is no number", { current_page: "x" }, "current_page"],
  ["a page of nothing", { page_size: "0" }, "page_size"],
  ["a page too large", { page_size: "1001" }, "page_size"],
  ["a parameter that is not known", { modle: "m" }, "modle"],
  ["a list too long", { configs: "a,".repeat(1_001) }, "configs"],
] as const) {
  test(`analytics refuse ${name}, and name it`, async () => {
    for (const path of ["graphs/requests", "groups/users", "summary/cache"]) {
      const query = new URLSearchParams({ ...times, ...changes });
      const { status, body } = await call(gateway, `GET /analytics/${path}?${query}`);
      assert.deepEqual([status, Reflect.get(Object(body.error), "param")], [400, param], path);
    }
  });
}

for (const [name, changes] of [
  ["columns", { columns: "cost,nothing" }],
  ["order_by", { order_by: "nothing" }],
  ["order_by_type", { order_by_type: "up" }],
  ["include_total", { include_total: "maybe" }],
] as const) {
  test(`groups refuse another ${name} than there is`, async () => {
    const query = new URLSearchParams({ ...times, ...changes });
    const { status, body } = await call(gateway, `GET /analytics/groups/users?${query}`);
    assert.deepEqual([status, Reflect.get(Object(body.error), "param")], [400, name]);
  });
}

test("a period without requests has zeros, and no groups", async () => {
  const empty = toQuery({ from: 0, to: 3 * hour });
  const { summary, data_points } = await read(`graphs/latency?${empty}`);
  const zeros = { avg: 0, p50: 0, p90: 0, p99: 0 };
  assert.deepEqual(summary, zeros);
  assert.deepEqual(
    data_points,
    [0, 1, 2, 3].map((at) => ({ timestamp: new Date(at * hour).toISOString(), ...zeros })),
  );
  assert.deepEqual(await read(`groups/users?${empty}`), { object: "list", total: 0, data: [] });
});
