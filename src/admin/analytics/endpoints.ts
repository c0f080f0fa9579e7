import * as v from "valibot";
import { readFigureAccess } from "../../endpoint/log-access.ts";
import type { AdminEndpoint, QueryParameter } from "../../endpoint.ts";
import { jsonTextReply, type Reply } from "../../lib/reply.ts";
import { labelField, metadataField } from "../../logs/index/fields.ts";
import { CacheTotals } from "../../logs/read/cache-graphs.ts";
import { graphs } from "../../logs/read/graphs.ts";
import { fieldsOfSeries } from "../../logs/read/group-series.ts";
import { fieldsOfGroups, type GroupField, type Grouping, groupings } from "../../logs/read/groups.ts";
import { figureSums, type SummedFigure } from "../../logs/read/period-summary.ts";
import {
  CacheSummary,
  type GraphName,
  graphResponses,
  groupResponse,
  PeriodSummary as PeriodSummaryResponse,
  seriesResponse,
} from "../../schemas/analytics.ts";
import { toCall } from "../core/endpoint.ts";
import { readChoice, readPage, readWhole } from "../core/request.ts";
import { idsBetween } from "../core/row-filters.ts";
import { type AnalyticsCall, commonParameters, readRequestFilter } from "./filters.ts";
import { groupParameters, orderOfGraphs, readGroupQuery } from "./group-query.ts";
import { findWanted } from "./wanted.ts";

/** Reads the period of a call, and which requests it is about. */
async function readWanted(call: AnalyticsCall, needs: Parameters<typeof findWanted>[2]) {
  const { from, to, ...filter } = readRequestFilter(call.query);
  return { ...(await findWanted(call, filter, needs)), from, to };
}

async function readGraph(call: AnalyticsCall, name: GraphName): Promise<string> {
  // graphs have no pages, but a wrong number is refused here too
  readPage(call.query);
  // traces only lead to their feedback
  const fields = graphs[name].fields.filter((field) => field !== "trace");
  const wanted = await readWanted(call, { fields });
  return call.context.services.logReader.graph({ ...wanted, name });
}

async function readCacheSummary(call: AnalyticsCall): Promise<string> {
  readPage(call.query);
  const { from: _from, to: _to, ...wanted } = await readWanted(call, { fields: CacheTotals.fields });
  return call.context.services.logReader.cacheSummary(wanted);
}

/** Start of the period of the same length before a period. */
const formerStart = (from: number, to: number): number => Math.max(0, from - (to - from) - 1);

/** Reads the figures of a period, of its points and of the period before. */
async function readPeriodSummary(call: AnalyticsCall): Promise<string> {
  readPage(call.query);
  const access = await readFigureAccess(call.context);
  // denied figures are left out
  const { from, to, ...wanted } = await readWanted(call, { access, fields: [] });
  const { denied } = access;
  const ids = idsBetween({ from: formerStart(from, to), to });
  return call.context.services.logReader.periodSummary({ ...wanted, ...ids, from, to, denied });
}

/** Slugs of workspaces by their ids, deleted ones included. */
async function workspaceNames({ stores, tenant }: AnalyticsCall): Promise<ReadonlyMap<string, string>> {
  const rows = await stores.workspaces.all(tenant);
  return new Map(rows.map(({ id, slug }) => [id, slug]));
}

/** The field of a grouping; that of a key in the path where it has none. */
function fieldOf({ params }: AnalyticsCall, { field }: Grouping): GroupField {
  const { labelName, metadataKey = "" } = params;
  return field ?? (labelName === undefined ? metadataField(metadataKey) : labelField(labelName));
}

/** Reads a figure by group over time, and of the period before. */
async function readSeries(call: AnalyticsCall, grouping: Grouping): Promise<string> {
  readPage(call.query);
  const field = fieldOf(call, grouping);
  const figure = readChoice(call.query, "figure", summedFigures) ?? "requests";
  const top = readWhole(call.query, "top", { min: 1, max: mostSeries }) ?? usualSeries;
  const { from, to, ...wanted } = await readWanted(call, {
    fields: fieldsOfSeries({ figure, field }),
    ...(grouping.isOrganisationWide && { widest: "organisation" }),
  });
  const names = field === "workspace" ? { names: await workspaceNames(call) } : {};
  const ids = idsBetween({ from: formerStart(from, to), to });
  const { value } = grouping;
  return call.context.services.logReader.series({ ...wanted, ...ids, from, to, figure, top, field, value, ...names });
}

async function readGroups(call: AnalyticsCall, name: string): Promise<string> {
  const grouping = groupings[name] ?? { summary: "", value: name };
  const access = await readFigureAccess(call.context);
  const query = readGroupQuery(call.query, grouping, access.denied);
  const field = fieldOf(call, grouping);
  const {
    from: _from,
    to: _to,
    ...wanted
  } = await readWanted(call, {
    access,
    fields: fieldsOfGroups({ query, field }),
    ...(grouping.isOrganisationWide && { widest: "organisation" }),
  });
  const names = field === "workspace" ? { names: await workspaceNames(call) } : {};
  return call.context.services.logReader.groups({ ...wanted, grouping: name, query, field, ...names });
}

const row = {
  method: "GET",
  tag: "Analytics",
  access: { keys: "any", scopes: ["analytics.view"] },
} as const;

/** Groups with separate points, of a call that does not say. */
const usualSeries = 8;
const mostSeries = 20;
const summedFigures = Object.keys(figureSums) as SummedFigure[]; // its own keys

const seriesParameters: readonly QueryParameter[] = [
  { name: "figure", description: `What is added up: ${summedFigures.join(", ")}; default requests` },
  {
    name: "top",
    description: `Groups with separate points, 1 to ${mostSeries}, default ${usualSeries}: the others are added up`,
  },
];

const withGroupParameters: readonly QueryParameter[] = [...commonParameters, ...groupParameters];

/** Declares an endpoint whose answer is a JSON text. */
function defineFigures(
  definition: Pick<AdminEndpoint, "path" | "summary" | "query" | "response">,
  read: (call: AnalyticsCall) => Promise<string>,
): AdminEndpoint {
  return {
    kind: "admin",
    errorForm: "admin",
    ...row,
    ...definition,
    handleAdmin: async (_, context): Promise<Reply> => jsonTextReply(await read(toCall(undefined, context))),
  };
}

/** Paths of graphs in a released client, beside those that name the graph. */
const otherPaths: Readonly<Partial<Record<GraphName, string>>> = {
  "users/requests": "users-requests",
  "errors/rate": "errors-rate",
  "errors/stacks": "errors-stack",
  "errors/status-codes": "errors-status-code",
  "requests/rescued": "requests-rescued",
  "cache/hit-rate": "cache-hit-rate",
  "cache/latency": "cache-latency",
  "feedbacks/scores": "feedbacks/score",
};

/** Graphs by their paths. */
const graphPaths = (Object.keys(graphs) as GraphName[]).flatMap((name) =>
  [name, otherPaths[name] ?? []].flat().map((path) => ({ name, path })),
);

/** Endpoints of analytics. */
export const analyticsEndpoints: readonly AdminEndpoint[] = [
  ...graphPaths.map(({ name, path }) =>
    defineFigures(
      {
        path: `/v1/analytics/graphs/${path}`,
        summary: graphs[name].summary,
        query: [...commonParameters, ...orderOfGraphs],
        response: graphResponses[name],
      },
      (call) => readGraph(call, name),
    ),
  ),
  defineFigures(
    {
      path: "/v1/analytics/summary/cache",
      summary: "What cached responses saved",
      query: [...commonParameters, ...orderOfGraphs],
      response: CacheSummary,
    },
    readCacheSummary,
  ),
  defineFigures(
    {
      path: "/v1/analytics/summary/requests",
      summary: "Figures of a period, over time and beside those of the period before",
      query: [...commonParameters, ...orderOfGraphs],
      response: PeriodSummaryResponse,
    },
    readPeriodSummary,
  ),
  ...Object.entries(groupings).map(([name, grouping]) =>
    defineFigures(
      {
        path: `/v1/analytics/groups/${name}`,
        summary: grouping.summary,
        query: withGroupParameters,
        response: groupResponse(grouping.value, grouping.field === "status" ? v.number() : v.string()),
      },
      (call) => readGroups(call, name),
    ),
  ),
  ...Object.entries(groupings).flatMap(([name, grouping]) =>
    // two of them are other names of others, for released clients
    name === "ai-models" || name === "workspaces"
      ? []
      : defineFigures(
          {
            path: `/v1/analytics/series/${name}`,
            summary: `${grouping.summary}, over time and beside the period before`,
            query: [...commonParameters, ...seriesParameters],
            response: seriesResponse(grouping.value, grouping.field === "status" ? v.number() : v.string()),
          },
          (call) => readSeries(call, grouping),
        ),
  ),
];
