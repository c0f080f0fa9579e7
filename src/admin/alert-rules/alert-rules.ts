import type { AlertEventRow, AlertRuleRow } from "../../db/tables/alert-rules.ts";
import { readFigureAccess, requireSeenFields } from "../../endpoint/log-access.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { InvalidRequestError } from "../../errors.ts";
import {
  type AlertEvent,
  AlertEventList,
  AlertRule,
  AlertRuleList,
  AlertTest,
  CreateAlertRule,
  SavedAlertRule,
  UpdateAlertRule,
} from "../../schemas/alert-rules.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { defineRecord, pageQuery } from "../core/record.ts";
import type { Found, NewPlace } from "../core/record-definitions.ts";
import { forbid, readPage, refuseField, requireNewName } from "../core/request.ts";
import { shownBy } from "../core/shown-row.ts";
import { removeDestinations, sealDestinations } from "./destinations.ts";
import { fieldsOfMetric, readFilter, toEvent } from "./evaluate.ts";

/** Most rules of a workspace: each is a pass over its log every minute. */
const maxRules = 100;

const defaults = { windowSeconds: 900, minRequests: 10, cooldownSeconds: 3_600 };

const toRule = shownBy(AlertRule, ({ enabled }: AlertRuleRow) => ({ enabled }));

const toShownEvent = shownBy(AlertEventList.entries.data.item, ({ nextAttemptAt, problem }: AlertEventRow) => ({
  delivery: nextAttemptAt !== null ? ("pending" as const) : problem === null ? ("sent" as const) : ("failed" as const),
}));

/**
 * Refuses an unknown filter, and figures that the caller may not see: the rule shows them.
 *
 * @throws {InvalidRequestError} AB01, naming the filter.
 * @throws {PermissionError} AB03
 */
async function requireReadable(
  { context }: AdminCall<unknown>,
  { metric, filter }: Pick<AlertRuleRow, "metric" | "filter">,
): Promise<void> {
  const { own, denied } = await readFigureAccess(context);
  if (own.length > 0) forbid("This role may not see figures of other users");
  try {
    const { conditions } = readFilter(filter);
    requireSeenFields([...conditions.map(({ field }) => field), ...fieldsOfMetric[metric]], denied);
  } catch (error) {
    if (!(error instanceof InvalidRequestError) || error.param === null) throw error;
    const param = `filter.${error.param}`;
    throw new InvalidRequestError(error.message.replace(error.param, param), { cause: error, code: "AB01", param });
  }
}

async function createRule(call: AdminCall<CreateAlertRule>, { tenant, id }: NewPlace<"alertRules">) {
  const { body, stores, now } = call;
  const { name, metric, threshold, enabled = true, filter = {} } = body;
  await requireNewName(call, () => stores.alertRules.find(tenant, { name }));
  if ((await stores.alertRules.count(tenant)) >= maxRules) {
    refuseField("workspace_id", `has ${maxRules} alert rules already`);
  }
  await requireReadable(call, { metric, filter });
  const { masked, statements } = await sealDestinations(call, { id, ...tenant }, body.destinations);
  return {
    answer: { id, object: "alert_rule" as const },
    columns: {
      name,
      metric,
      filter,
      threshold,
      windowSeconds: body.window_seconds ?? defaults.windowSeconds,
      minRequests: body.min_requests ?? defaults.minRequests,
      cooldownSeconds: body.cooldown_seconds ?? defaults.cooldownSeconds,
      enabled,
      destinations: masked,
      state: "pending" as const,
      isOpen: false,
      nextEvaluationAt: now,
    },
    statements,
  };
}

async function changeRule(call: AdminCall<UpdateAlertRule>, { row, tenant }: Found<"alertRules">) {
  const { body, now } = call;
  const { name, metric, threshold, enabled, filter } = body;
  await requireReadable(call, { metric: metric ?? row.metric, filter: filter ?? row.filter });
  const sealed = body.destinations && (await sealDestinations(call, { id: row.id, ...tenant }, body.destinations));
  return {
    answer: { id: row.id, object: "alert_rule" as const },
    columns: {
      name,
      metric,
      filter,
      threshold,
      windowSeconds: body.window_seconds,
      minRequests: body.min_requests,
      cooldownSeconds: body.cooldown_seconds,
      enabled,
      destinations: sealed?.masked,
      // evaluated again at once
      nextEvaluationAt: now,
    },
    statements: sealed?.statements ?? [],
  };
}

async function listEvents({ stores, query }: AdminCall<undefined>, { row, tenant }: Found<"alertRules">) {
  const page = readPage(query);
  const { rows, total } = await stores.alertEvents.list(tenant, { where: { ruleId: row.id }, page });
  const data: AlertEvent[] = rows.map(toShownEvent);
  return { data, total, has_more: page.offset + rows.length < total };
}

/** Writes an event that is delivered as those of the rule are. */
async function testRule({ stores, now }: AdminCall<undefined>, { row, tenant }: Found<"alertRules">) {
  if (row.destinations.length === 0) refuseField("destinations", "must have an entry that can be tested");
  const event = toEvent(row, "test", now);
  return {
    answer: { id: event.id, object: "alert_event" as const, type: "test" as const },
    statements: [stores.alertEvents.insert(tenant, event)],
  };
}

const kind = defineRecord({
  tag: "Alerts",
  path: "/v1/alert-rules",
  words: { one: "an alert rule", many: "alert rules" },
  store: "alertRules",
  audit: "alert_rules",
  // both watch what requests use
  access: "policies",
  hasIdsOnly: true,
});

/** Endpoints of alert rules. */
export const alertRuleEndpoints: readonly AdminEndpoint[] = [
  kind.list({ response: AlertRuleList, search: ["name"], show: (rows) => rows.map(toRule) }),
  kind.create({ body: CreateAlertRule, response: SavedAlertRule, decide: createRule }),
  kind.show({ response: AlertRule, show: ({ row }) => toRule(row) }),
  kind.change({ body: UpdateAlertRule, response: SavedAlertRule, decide: changeRule }),
  kind.remove({
    before: async ({ stores }, { row, tenant }) => [
      stores.alertEvents.remove(tenant, { ruleId: row.id }),
      removeDestinations({ id: row.id, ...tenant }, stores),
    ],
  }),
  kind.read({
    at: "/events",
    verb: "read",
    summary: "List what an alert rule found and where it was sent, newest first",
    query: pageQuery(),
    response: AlertEventList,
    handle: listEvents,
  }),
  kind.write({
    method: "POST",
    at: "/test",
    verb: "update",
    action: "test",
    summary: "Send a test to the destinations of an alert rule",
    response: AlertTest,
    handle: testRule,
  }),
];
