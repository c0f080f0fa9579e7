import * as v from "valibot";
import { readFigureAccess } from "../endpoint/log-access.ts";
import type { AdminEndpoint } from "../endpoint.ts";
import { parseJson } from "../lib/json.ts";
import { type DeniedFields, deniedFilter } from "../logs/denied-fields.ts";
import type { GroupColumnName } from "../logs/read/group-columns.ts";
import { type GroupQuery, groupings } from "../logs/read/groups.ts";
import type { WantedRows } from "../logs/read/log-reader.ts";
import { HealthSummary, healthKinds } from "../schemas/health-summary.ts";
import { isShownColumn } from "./analytics/group-query.ts";
import { findWanted } from "./analytics/wanted.ts";
import { type AdminCall, type AnswerOf, defineRead } from "./core/endpoint.ts";
import { toIso } from "./core/request.ts";
import { countedSources, idsBetween, readRowChoice, sharedFilters } from "./core/row-filters.ts";
import { listTargets } from "./target-health.ts";

type Kind = (typeof healthKinds)[number];
type Shown = HealthSummary["data"][number];

const periodMs = 3_600_000;
/** Most groups of each kind. */
const maxGroups = 200;
/** Percent of failed requests from which on a group is degraded, and failing. */
const degradedFrom = 5;
const failingFrom = 50;
/** Requests below which a group is ok. */
const fewRequests = 5;

const columns: readonly GroupColumnName[] = ["error_count", "p95_latency", "p95_first_token", "last_seen"];
const figure = v.optional(v.nullable(v.number()), null);
/** The response of the reader, of which denied columns are absent. */
const Groups = v.object({
  data: v.array(
    v.object({
      name: v.string(),
      requests: v.number(),
      error_count: v.number(),
      p95_latency: figure,
      p95_first_token: figure,
      last_seen: v.string(),
    }),
  ),
});

const stateOf = (requests: number, rate: number): Shown["state"] => {
  if (requests < fewRequests || rate < degradedFrom) return "ok";
  return rate < failingFrom ? "degraded" : "failing";
};

/** Slugs of integrations by their ids, which rows have. */
async function integrationNames({ stores, tenant }: AdminCall<undefined>): Promise<ReadonlyMap<string, string>> {
  const rows = await stores.integrations.all({ ...tenant, workspaceId: null });
  return new Map(rows.map(({ id, slug }) => [id, slug]));
}

/** Which rows count, and what the caller may see of them. */
interface HealthRows {
  readonly rows: WantedRows;
  readonly denied: DeniedFields;
}

/** The groups of one kind; none where the organisation denies what they are made by. */
async function readKind(kind: Kind, { rows, denied }: HealthRows, call: AdminCall<undefined>): Promise<Shown[]> {
  const field = groupings[kind]?.field;
  if (field === undefined || deniedFilter(field, denied) !== undefined) return [];
  const query: GroupQuery = {
    columns: columns.filter((name) => isShownColumn(name, denied)),
    orderBy: "requests",
    isAscending: false,
    hasTotal: false,
    page: { offset: 0, limit: maxGroups },
    readsFeedback: false,
  };
  const names = kind === "integration" ? { names: await integrationNames(call) } : {};
  const { logReader } = call.context.services;
  const { data } = v.parse(
    Groups,
    parseJson(await logReader.groups({ ...rows, grouping: "name", query, field, ...names })),
  );
  return data
    .filter(({ name }) => name !== "")
    .map(({ error_count, requests, ...group }) => {
      const error_rate = (100 * error_count) / Math.max(1, requests);
      const state = stateOf(requests, error_rate);
      return { object: "health" as const, kind, state, ...group, requests, error_count, error_rate };
    });
}

async function readSummary(call: AdminCall<undefined>): Promise<AnswerOf<typeof HealthSummary>> {
  const { now, query, context } = call;
  const period = { from: now - periodMs, to: now };
  const asked = new URLSearchParams(query);
  if (!asked.get("source")) asked.set("source", countedSources);
  const access = await readFigureAccess(context);
  const choice = { ...idsBetween(period), ...readRowChoice(asked) };
  const rows = await findWanted(call, choice, { access, fields: ["status"] });
  const { denied } = access;
  const data = await Promise.all(healthKinds.map((kind) => readKind(kind, { rows, denied }, call)));
  return {
    object: "health_summary",
    from: toIso(period.from),
    to: toIso(period.to),
    data: data.flat(),
    targets: listTargets(rows.scope, context.services),
  };
}

const { source, ...filters } = sharedFilters;

/** The endpoint that shows how requests of the last hour went. */
export const healthSummaryEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    tag: "Analytics",
    method: "GET",
    path: "/v1/health/summary",
    summary: "Show requests, errors and latency of the last hour by provider, integration, model and MCP server",
    access: { keys: "any", scopes: ["analytics.view"] },
    query: Object.entries({
      workspace_slug: "A workspace, for keys of the organisation; `*`: all of them; without it the default workspace",
      ...filters,
      source: `${source}; default ${countedSources}`,
    }).map(([name, description]) => ({ name, description })),
    response: HealthSummary,
    handle: readSummary,
  }),
];
