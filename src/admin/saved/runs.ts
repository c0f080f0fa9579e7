import type { CallerContext } from "../../context.ts";
import { settingsOf, toRecord } from "../../control/settings.ts";
import type { PlaygroundRunRow } from "../../db/tables/saved.ts";
import { readLogSight } from "../../endpoint/role.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { joinBytes } from "../../lib/bytes.ts";
import { finiteNumber, isObject, parseJson } from "../../lib/json.ts";
import { dayMs } from "../../lib/periods.ts";
import {
  CreatePlaygroundRun,
  ListedPlaygroundRun,
  PlaygroundRun,
  PlaygroundRunList,
  PlaygroundRunReceipt,
  UpdatePlaygroundRun,
} from "../../schemas/playground-runs.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { defineRecord } from "../core/record.ts";
import type { Found, NewPlace, RecordTenant } from "../core/record-definitions.ts";
import { forbid, readTenant, refuseField, requireFound, requireId } from "../core/request.ts";
import { shownBy } from "../core/shown-row.ts";
import { audienceOf, requireChangeable, requireRoom, requireSeen, seenBy } from "./audience.ts";

/** Most runs that a workspace shares, and that a person has alone. */
const most = { shared: 1_000, own: 200 };
/** Longest contents of a run: a few images fit. */
const maxBytes = 8 * 1024 * 1024;
/** A file that no run names in the end is removed after this long. */
const unusedForMs = 60 * 60_000;

const toListed = shownBy(ListedPlaygroundRun, ({ audience, models }: PlaygroundRunRow) => ({
  models,
  shared: audience === "",
}));

/**
 * What may be stored of a run, without credentials.
 *
 * @throws {PermissionError} AB03 where the workspace does not store contents.
 * @throws {InvalidRequestError} AB01 for contents that are too long.
 */
async function sealContent({ body, context }: AdminCall<CreatePlaygroundRun>, tenant: RecordTenant<"playgroundRuns">) {
  const { control, redactor } = context.services;
  const view = await control.directory.workspace(tenant);
  if (!view || settingsOf(view).debug_log === 0) {
    forbid("This workspace does not store the contents of requests (debug_log)");
  }
  const bytes = new TextEncoder().encode(redactor.text(JSON.stringify(body.contents)));
  if (bytes.length > maxBytes) refuseField("contents", `must have at most ${maxBytes / 2 ** 20} MiB`);
  const days = finiteNumber(toRecord(view.organisation.settings).log_retention_days);
  return { bytes, days };
}

async function create(call: AdminCall<CreatePlaygroundRun>, { tenant, id }: NewPlace<"playgroundRuns">) {
  const { body, stores, actor, now, context } = call;
  const { name, shared = false, models = [] } = body;
  const audience = audienceOf(shared, actor);
  const count = await stores.playgroundRuns.count(tenant, { where: { audience } });
  requireRoom(count, shared ? most.shared : most.own, "runs");
  const { bytes, days } = await sealContent(call, tenant);
  const expiresAt = days === undefined ? null : now + days * dayMs;
  const file = { filename: `playground-${id}.json`, purpose: "playground" };
  const fileId = await context.services.files.store(tenant, file, bytes, now + unusedForMs);
  return {
    answer: { id, object: "playground_run" as const },
    columns: { name, models, audience, createdBy: actor, fileId, bytes: bytes.length, expiresAt },
    statements: [stores.gatewayFiles.update(tenant, { id: fileId }, { expiresAt })],
  };
}

/** The contents of a run. @throws {NotFoundError} AB08 once they were removed. */
async function readContent({ fileId, ...tenant }: PlaygroundRunRow, { services }: CallerContext) {
  const file = requireFound(await services.files.findHidden(tenant, fileId), "run: its contents have expired");
  const pieces: Uint8Array[] = [];
  for await (const piece of services.files.read(file)) pieces.push(piece);
  const content = parseJson(new TextDecoder().decode(joinBytes(pieces)));
  return isObject(content) ? content : {};
}

/** @throws {PermissionError} AB03 for roles that may not see what others send. */
async function requireSight({ context, actor }: AdminCall<unknown>, { createdBy }: PlaygroundRunRow): Promise<void> {
  if (createdBy === actor) return;
  const { content, others } = await readLogSight(context);
  if (!content || !others) forbid("This role may not see the requests of others");
}

async function change({ body, stores }: AdminCall<UpdatePlaygroundRun>, { row, tenant }: Found<"playgroundRuns">) {
  const { name, shared = row.audience === "" } = body;
  const audience = audienceOf(shared, row.createdBy);
  if (audience !== row.audience) {
    const count = await stores.playgroundRuns.count(tenant, { where: { audience } });
    requireRoom(count, shared ? most.shared : most.own, "runs");
  }
  return { answer: { id: row.id, object: "playground_run" as const }, columns: { name, audience } };
}

const kind = defineRecord({
  tag: "Playground runs",
  path: "/v1/playground-runs",
  words: { one: "a playground run", many: "playground runs" },
  store: "playgroundRuns",
  audit: "playground_runs",
  // who may call models may store what they answered
  access: () => ({ keys: "workspace", scopes: ["completions.write"] }),
  async find(call, verb) {
    const id = requireId(call.params, "id", "playground run");
    const row = requireSeen(call, await call.stores.playgroundRuns.get(await readTenant(call), id), "playground run");
    if (verb !== "read") await requireChangeable(call, row);
    return row;
  },
});

/** Endpoints of saved runs of the playground. */
export const playgroundRunEndpoints: readonly AdminEndpoint[] = [
  kind.list({
    summary: "List the playground runs that everybody in the workspace opens, and the caller's own, newest first",
    response: PlaygroundRunList,
    search: ["name"],
    select: (call) => ({ where: seenBy(call) }),
    show: (rows) => rows.map(toListed),
  }),
  kind.create({
    maxBodyBytes: maxBytes + 64 * 1024,
    body: CreatePlaygroundRun,
    response: PlaygroundRunReceipt,
    decide: create,
  }),
  kind.show({
    response: PlaygroundRun,
    async show({ row }, call) {
      await requireSight(call, row);
      return { ...toListed(row), contents: await readContent(row, call.context) };
    },
  }),
  kind.change({ body: UpdatePlaygroundRun, response: PlaygroundRunReceipt, decide: change }),
  kind.remove({
    before: async ({ stores }, { row, tenant }) => [
      stores.gatewayFiles.update(tenant, { id: row.fileId }, { status: "deleted" }),
    ],
  }),
];
