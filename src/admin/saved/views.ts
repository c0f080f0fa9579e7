import type { SavedViewRow } from "../../db/tables/saved.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { InvalidRequestError } from "../../errors.ts";
import { NoContent } from "../../schemas/objects.ts";
import {
  CreateSavedView,
  SavedView,
  SavedViewList,
  SavedViewReceipt,
  UpdateSavedView,
  type ViewQuestion,
  viewPages,
} from "../../schemas/saved-views.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { readRowFilter } from "../core/log-filter.ts";
import { defineRecord } from "../core/record.ts";
import type { Found, NewPlace, RecordTenant } from "../core/record-definitions.ts";
import { readChoice, readTenant, refuseField, requireId } from "../core/request.ts";
import { shownBy } from "../core/shown-row.ts";
import { audienceOf, requireChangeable, requireRoom, requireSeen, seenBy } from "./audience.ts";

/** Most views that a workspace shares, and that a person has alone. */
const most = { shared: 500, own: 100 };
/** Most charts on the overview: those that a workspace shares, and those of a person. */
const mostPinned = 12;

type Tenant = RecordTenant<"savedViews">;

/** Views with what they are for the caller. */
async function show(
  { stores, actor }: AdminCall<unknown>,
  tenant: { organisationId: string; workspaceId: string | null },
  rows: readonly SavedViewRow[],
) {
  const defaults = await stores.savedViewDefaults.all(tenant, { where: { person: actor } });
  const ids = new Set(defaults.map(({ viewId }) => viewId));
  const toView = shownBy(SavedView, ({ id, audience, pinned, question }: SavedViewRow) => ({
    question,
    pinned,
    shared: audience === "",
    is_default: ids.has(id),
  }));
  return rows.map(toView);
}

/**
 * Refuses filters that the log does not have, and values that they cannot have.
 *
 * @throws {InvalidRequestError} AB01, naming the filter.
 */
function requireReadable({ filters = {} }: ViewQuestion): void {
  const { search: _, ...others } = filters;
  const reserved = ["from", "to", "workspace_slug"].find((name) => Object.hasOwn(others, name));
  if (reserved !== undefined) refuseField(`question.filters.${reserved}`, "is not part of the filters");
  try {
    readRowFilter(new URLSearchParams(others));
  } catch (error) {
    if (!(error instanceof InvalidRequestError) || error.param === null) throw error;
    const param = `question.filters.${error.param}`;
    throw new InvalidRequestError(error.message.replace(error.param, param), { cause: error, code: "AB01", param });
  }
}

/** @throws {InvalidRequestError} AB01 for pages without charts, and for one more chart than the overview shows. */
async function requirePinnable(
  { stores }: AdminCall<unknown>,
  tenant: Tenant,
  view: Pick<SavedViewRow, "page" | "audience">,
) {
  if (view.page !== "analytics") refuseField("pinned", "can be set for views of analytics only");
  const { audience } = view;
  const pinned = await stores.savedViews.count(tenant, { where: { audience, pinned: true } });
  if (pinned >= mostPinned) refuseField("pinned", `${mostPinned} charts are pinned already`);
}

async function create(call: AdminCall<CreateSavedView>, { tenant, id }: NewPlace<"savedViews">) {
  const { body, stores, actor } = call;
  const { name, page, question, shared = false, pinned = false } = body;
  const audience = audienceOf(shared, actor);
  requireReadable(question);
  requireRoom(await stores.savedViews.count(tenant, { where: { audience } }), shared ? most.shared : most.own, "views");
  if (pinned) await requirePinnable(call, tenant, { page, audience });
  return {
    answer: { id, object: "saved_view" as const },
    columns: { name, page, question, pinned, audience, createdBy: actor },
  };
}

async function change(call: AdminCall<UpdateSavedView>, { row, tenant }: Found<"savedViews">) {
  const { body, stores } = call;
  const { name, question, shared = row.audience === "", pinned = row.pinned } = body;
  const audience = audienceOf(shared, row.createdBy);
  if (question) requireReadable(question);
  if (audience !== row.audience) {
    const count = await stores.savedViews.count(tenant, { where: { audience } });
    requireRoom(count, shared ? most.shared : most.own, "views");
  }
  if (pinned && !(row.pinned && audience === row.audience)) await requirePinnable(call, tenant, { ...row, audience });
  return {
    answer: { id: row.id, object: "saved_view" as const },
    columns: { name, question, pinned, audience },
  };
}

/** The page opens with the view for the caller. */
async function makeDefault({ stores, actor, now }: AdminCall<undefined>, { row, tenant }: Found<"savedViews">) {
  const { page, id: viewId } = row;
  return {
    answer: {},
    statements: [stores.savedViewDefaults.put(tenant, { ...tenant, person: actor, page, viewId, createdAt: now })],
  };
}

const kind = defineRecord({
  tag: "Saved views",
  path: "/v1/saved-views",
  words: { one: "a saved view", many: "saved views" },
  store: "savedViews",
  audit: "saved_views",
  // who sees figures or rows may put questions to them under a name
  access: () => ({ keys: "any", scopes: ["analytics.view", "logs.list", "logs.view"] }),
  async find(call, verb) {
    const id = requireId(call.params, "id", "saved view");
    const row = requireSeen(call, await call.stores.savedViews.get(await readTenant(call), id), "saved view");
    if (verb === "update" || verb === "delete") await requireChangeable(call, row);
    return row;
  },
});

/** Endpoints of saved views. */
export const savedViewEndpoints: readonly AdminEndpoint[] = [
  kind.list({
    summary: "List the saved views that everybody in the workspace sees, and the caller's own",
    response: SavedViewList,
    filters: { page: { values: viewPages } },
    search: ["name"],
    page: "all",
    query: [{ name: "pinned", description: "`true`: those with a chart on the overview; `false`: the others" }],
    select(call) {
      const pinned = readChoice(call.query, "pinned", ["true", "false"]);
      return { where: { ...seenBy(call), ...(pinned && { pinned: pinned === "true" }) } };
    },
    show: (rows, call, tenant) => show(call, tenant, rows),
  }),
  kind.create({ body: CreateSavedView, response: SavedViewReceipt, decide: create }),
  kind.show({
    response: SavedView,
    async show({ row, tenant }, call) {
      const [shown] = await show(call, tenant, [row]);
      return shown as NonNullable<typeof shown>; // one row is shown as one
    },
  }),
  kind.change({ body: UpdateSavedView, response: SavedViewReceipt, decide: change }),
  kind.remove({
    before: async ({ stores }, { row, tenant }) => [stores.savedViewDefaults.remove(tenant, { viewId: row.id })],
  }),
  kind.write({
    method: "PUT",
    at: "/default",
    verb: "read",
    action: "update",
    summary: "Open a page with a saved view, for the caller",
    response: NoContent,
    handle: makeDefault,
  }),
  kind.write({
    method: "DELETE",
    at: "/default",
    verb: "read",
    action: "update",
    summary: "Open a page without a saved view, for the caller",
    response: NoContent,
    handle: async ({ stores, actor }, { row, tenant }) => ({
      answer: {},
      statements: [stores.savedViewDefaults.remove(tenant, { person: actor, viewId: row.id })],
    }),
  }),
];
