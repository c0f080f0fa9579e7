import * as v from "valibot";
import { readFigureAccess, requireSeenFields } from "../../endpoint/log-access.ts";
import type { AdminEndpoint, QueryParameter } from "../../endpoint.ts";
import { createPause } from "../../lib/pace.ts";
import { type FieldName, metadataField } from "../../log-index/fields.ts";
import { pointsBetween, startOfPoint, widthOf } from "../../log-index/measures.ts";
import type { RowBlock } from "../../log-index/row-block.ts";
import { scanRows } from "../../log-index/scan-rows.ts";
import {
  CacheSummary,
  type GraphName,
  graphResponses,
  groupResponse,
  PeriodSummary as PeriodSummaryResponse,
} from "../../schemas/analytics.ts";
import { defineRead } from "../core/endpoint.ts";
import { readPage } from "../core/request.ts";
import { idsBetween, readScope } from "../core/row-filters.ts";
import { CacheTotals } from "./cache-graphs.ts";
import { type AnalyticsCall, commonParameters, readRequestFilter } from "./filters.ts";
import { graphs } from "./graphs.ts";
import { type Grouping, GroupRun, groupings, groupParameters, readGroupQuery } from "./groups.ts";
import { PeriodSummary } from "./period-summary.ts";
import { visitParts } from "./sums.ts";
import { type FeedbackIndex, feedbackTest, readFeedback } from "./trace-feedback.ts";

/** What a call needs besides the requests it names. */
interface Needs {
  readonly widest?: "workspace" | "organisation";
  readonly readsFeedback?: boolean | undefined;
  /** What the caller may see, where it is known. */
  readonly access?: Awaited<ReturnType<typeof readFigureAccess>>;
  /** The requests of the period of the same length before are visited too. */
  readonly withFormer?: boolean;
}

/** The requests of a call, not yet read. */
interface Requests {
  readonly from: number;
  readonly to: number;
  readonly feedback: FeedbackIndex | undefined;
  /** Visits them all, and rows that are parts of them. */
  scan(fields: readonly FieldName[], visit: (block: RowBlock, isPart: boolean) => void): Promise<void>;
}

/** Start of the period of the same length before a period. */
const formerStart = (from: number, to: number): number => Math.max(0, from - (to - from) - 1);

/**
 * Reads which requests a call is about, and which of them the caller may see.
 *
 * @throws {InvalidRequestError} AB01, naming the parameter.
 */
async function readRequests(call: AnalyticsCall, needs: Needs): Promise<Requests> {
  const { query, context } = call;
  const { tests, terms, conditions, from, to, ...ids } = readRequestFilter(query);
  const range = needs.withFormer ? idsBetween({ from: formerStart(from, to), to }) : ids;
  const scope = await readScope(call, needs.widest ?? "workspace");
  const { own, denied } = needs.access ?? (await readFigureAccess(context));
  const filtered = conditions.map(({ field }) => field);
  const { services } = context;
  const feedback = needs.readsFeedback || terms.rating ? await readFeedback(services.feedback, scope) : undefined;
  const rated = terms.rating && feedback ? [feedbackTest(feedback, terms.rating)] : [];
  return {
    from,
    to,
    feedback,
    async scan(fields, visit) {
      // traces only lead to their feedback
      requireSeenFields([...filtered, ...fields.filter((field) => field !== "trace")], denied);
      const query = {
        ...range,
        conditions: [...conditions, ...own],
        tests: [...tests, ...rated],
        fields: [...new Set<FieldName>(["part", ...fields])],
      };
      await scanRows(services.logIndex, scope, query, (block) => visitParts(block, visit));
    },
  };
}

/** Computes a graph. */
async function readGraph(call: AnalyticsCall, name: GraphName) {
  const graph = graphs[name];
  // graphs have no pages, but a wrong number is refused here too
  readPage(call.query);
  const requests = await readRequests(call, { readsFeedback: graph.readsFeedback });
  const { from, to, feedback } = requests;
  const width = widthOf(from, to);
  const starts = pointsBetween(from, to, width);
  const first = starts[0] ?? startOfPoint(from, width);
  const pointOf = (time: number) => Math.floor((time - first) / width);
  const run = graph.start({ points: starts.length, pointOf, feedback, pause: createPause() });
  await requests.scan(["time", ...graph.fields], (block, isPart) => {
    const times = block.numbers("time");
    const places = new Uint32Array(times.length);
    for (let row = 0; row < times.length; row++) places[row] = pointOf(times[row] ?? 0);
    if (isPart) run.addParts?.(block, places);
    else run.add(block, places);
  });
  const { summary, point, rows } = await run.finish();
  const data_points = rows ?? starts.map((start, at) => ({ timestamp: new Date(start).toISOString(), ...point?.(at) }));
  return { summary, data_points, object: "analytics-graph" };
}

async function readCacheSummary(call: AnalyticsCall) {
  readPage(call.query);
  const requests = await readRequests(call, {});
  const totals = new CacheTotals();
  await requests.scan(CacheTotals.fields, (block, isPart) => {
    if (!isPart) totals.add(block);
  });
  return { summary: totals.summary(), object: "analytics-summary" };
}

/** Computes the figures of a period, of its points and of the period before in one pass. */
async function readPeriodSummary(call: AnalyticsCall) {
  readPage(call.query);
  const access = await readFigureAccess(call.context);
  const requests = await readRequests(call, { access, withFormer: true });
  const { from, to } = requests;
  const width = widthOf(from, to);
  const starts = pointsBetween(from, to, width);
  const first = starts[0] ?? startOfPoint(from, width);
  const run = new PeriodSummary(starts.length, access.denied, createPause());
  await requests.scan(["time", ...run.fields], (block, isPart) => {
    const places = Uint32Array.from(block.numbers("time"), (time) =>
      time < from ? starts.length : Math.floor((time - first) / width),
    );
    run.add(block, places, isPart);
  });
  const { summary, former, points } = await run.finish();
  const data_points = starts.map((start, at) => ({ timestamp: new Date(start).toISOString(), ...points[at] }));
  return { summary, former, data_points, object: "analytics-summary" };
}

/** Slugs of workspaces by their ids, deleted ones included. */
async function workspaceNames({ stores, tenant }: AnalyticsCall): Promise<(id: string) => string> {
  const rows = await stores.workspaces.all(tenant);
  const slugs = new Map(rows.map(({ id, slug }) => [id, slug]));
  return (id) => slugs.get(id) ?? id;
}

/** Computes groups. */
async function readGroups(call: AnalyticsCall, grouping: Grouping) {
  const access = await readFigureAccess(call.context);
  const query = readGroupQuery(call.query, grouping, access.denied);
  const requests = await readRequests(call, {
    access,
    widest: grouping.isOrganisationWide ? "organisation" : "workspace",
    readsFeedback: query.readsFeedback,
  });
  const used = query.readsFeedback ? requests.feedback : undefined;
  const field = grouping.field ?? metadataField(call.params.metadataKey ?? "");
  const nameOf = field === "workspace" ? await workspaceNames(call) : (value: string) => value;
  const run = new GroupRun({ grouping, query, field, nameOf }, used, createPause());
  await requests.scan(run.fields, (block, isPart) => run.add(block, isPart));
  const { total, data } = await run.finish();
  return { object: "list", ...(query.hasTotal && { total }), data };
}

const row = {
  method: "GET",
  tag: "Analytics",
  access: { keys: "any", scopes: ["analytics.view"] },
} as const;

const withGroupParameters: readonly QueryParameter[] = [...commonParameters, ...groupParameters];

/** Endpoints of analytics. */
export const analyticsEndpoints: readonly AdminEndpoint[] = [
  ...(Object.keys(graphs) as GraphName[]).map((name) =>
    defineRead({
      ...row,
      path: `/v1/analytics/graphs/${name}`,
      summary: graphs[name].summary,
      query: commonParameters,
      response: graphResponses[name],
      handle: (call) => readGraph(call, name),
    }),
  ),
  defineRead({
    ...row,
    path: "/v1/analytics/summary/cache",
    summary: "What cached responses saved",
    query: commonParameters,
    response: CacheSummary,
    handle: readCacheSummary,
  }),
  defineRead({
    ...row,
    path: "/v1/analytics/summary/requests",
    summary: "Figures of a period, over time and beside those of the period before",
    query: commonParameters,
    response: PeriodSummaryResponse,
    handle: readPeriodSummary,
  }),
  ...Object.entries(groupings).map(([name, grouping]) =>
    defineRead({
      ...row,
      path: `/v1/analytics/groups/${name}`,
      summary: grouping.summary,
      query: withGroupParameters,
      response: groupResponse(grouping.value, grouping.field === "status" ? v.number() : v.string()),
      handle: (call) => readGroups(call, grouping),
    }),
  ),
];
