import type { WorkspaceView } from "../../control/resources.ts";
import type { EvalRunRow } from "../../db/tables/evals.ts";
import { readDenied } from "../../endpoint/log-access.ts";
import { requireScopes } from "../../endpoint/role.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { jsonReply } from "../../lib/reply.ts";
import { toCents } from "../../pricing/cost.ts";
import { readPromptReference, readVersionNumber } from "../../prompts/reference.ts";
import {
  CreateEvalRun,
  EvalResultPage,
  EvalRunDetail,
  EvalRunList,
  EvalRunRecord,
  type NamedCheck,
  PromotedVariant,
  PromoteVariant,
  RateAnswer,
  SavedEvalRun,
  type StoredVariant,
} from "../../schemas/eval-runs.ts";
import type { Example } from "../../schemas/example-sets.ts";
import { commitAudited } from "../core/audit-values.ts";
import { type AdminCall, type AnswerOf, toCall } from "../core/endpoint.ts";
import { defineRecord, pageQuery } from "../core/record.ts";
import type { Found, NewPlace } from "../core/record-definitions.ts";
import {
  forbid,
  readChoice,
  readPage,
  readText,
  refuseField,
  requireFound,
  requireReferenced,
} from "../core/request.ts";
import { shownBy } from "../core/shown-row.ts";
import { createRunKey } from "./answer-seal.ts";
import { lateHooks, onlyNamed, writtenHooks } from "./checks.ts";
import { withoutDeniedFigures } from "./denied-figures.ts";
import { readExamples } from "./example-files.ts";
import { findVersion } from "./example-sets.ts";
import { writeResults } from "./export-results.ts";
import { requireExamplesSeen } from "./log-examples.ts";
import { promoteVariant } from "./promote.ts";
import { removeRuns } from "./remove-runs.ts";
import { readResults } from "./results.ts";
import { findWinner, readTotals } from "./totals.ts";

/** Most runs of an organisation at a time. */
const maxRunning = 10;
const defaultConcurrency = 4;
const nanosOfDollar = 1e9;
const object = "eval_run" as const;

type FoundRun = Found<"evalRuns">;

const toRun = shownBy(EvalRunRecord, (row: EvalRunRow) => ({
  budget_usd: row.budget / nanosOfDollar,
  cost: toCents(row.cost),
}));

/** The key a run makes its requests with. It is looked up again while the run goes on, which a token could not be. */
async function requireKey({ context }: AdminCall<unknown>): Promise<string> {
  await requireScopes(context, ["completions.write"]);
  const { principal, services } = context;
  if (await services.authenticator.ofKey(principal.keyId)) return principal.keyId;
  return forbid("A run needs an API key, not a token");
}

/** Refuses a name that another has. */
function requireNames<Named extends { name: string }>(named: readonly Named[], list: string): Named[] {
  for (const [index, { name }] of named.entries()) {
    if (named.findIndex((one) => one.name === name) < index) refuseField(`${list}.${index}.name`, "is taken");
  }
  return [...named];
}

/** The prompt of a variant with the number of its version, so that a run says what it ran. */
async function pinPrompt(prompt: string, { prompts }: WorkspaceView, param: string): Promise<string> {
  const { name, version } = readPromptReference(prompt);
  const stored = requireReferenced(prompts.records.get(name), param);
  const found = requireReferenced(await prompts.findVersion(stored, version), param);
  return `${stored.row.slug}@${readVersionNumber(version) ?? found.version}`;
}

async function readVariants({ body }: AdminCall<CreateEvalRun>, view: WorkspaceView): Promise<StoredVariant[]> {
  const variants: StoredVariant[] = [];
  for (const [index, { name, model, config, prompt }] of body.variants.entries()) {
    const at = `variants.${index}`;
    if (config !== undefined) requireReferenced(view.configs.get(config), `${at}.config`);
    const pinned = prompt === undefined ? undefined : await pinPrompt(prompt, view, `${at}.prompt`);
    const own = {
      ...(model !== undefined && { model }),
      ...(config !== undefined && { config }),
      ...(pinned !== undefined && { prompt: pinned }),
    };
    variants.push({ name: name ?? Object.values(own).reverse().join(" "), ...own });
  }
  return requireNames(variants, "variants");
}

function readChecks({ body, context }: AdminCall<CreateEvalRun>, view: WorkspaceView): NamedCheck[] {
  const { guardrails } = context.services;
  const named = (body.checks ?? []).map((check, index): NamedCheck => {
    const at = `checks.${index}`;
    if (check.type === "guardrail") requireReferenced(view.guardrails.get(check.guardrail), `${at}.guardrail`);
    const stored = { ...check, name: check.name ?? check.type };
    if (stored.type !== "guardrail" && stored.type !== "json_schema") return stored;
    const hooks = writtenHooks(stored);
    const [problem] = guardrails.findProblems(hooks);
    if (problem) refuseField(`${at}.${stored.type === "guardrail" ? "guardrail" : "schema"}`, problem.message);
    if (lateHooks(guardrails.of(hooks, onlyNamed(view))).length === 0)
      refuseField(`${at}.guardrail`, "must check responses");
    return stored;
  });
  return requireNames(named, "checks");
}

/** Refuses variants and checks that examples have nothing for. */
function requireFitting(
  examples: readonly Example[],
  variants: readonly StoredVariant[],
  checks: readonly NamedCheck[],
): void {
  for (const [index, { prompt }] of variants.entries()) {
    const needed = prompt === undefined ? "body" : "variables";
    const lacking = examples.findIndex((example) => example[needed] === undefined);
    if (lacking >= 0) {
      refuseField(`variants.${index}`, `cannot be run: example ${lacking} has no ${needed}`);
    }
  }
  const isExpecting = examples.some(({ expected }) => expected !== undefined);
  const wanting = checks.findIndex(
    (check) => check.type === "exact" || (check.type === "contains" && check.value === undefined),
  );
  if (!isExpecting && wanting >= 0) refuseField(`checks.${wanting}`, "cannot decide: no example has expected");
}

async function createRun(call: AdminCall<CreateEvalRun>, { tenant, id }: NewPlace<"evalRuns">) {
  const { body, stores, now, actor, context } = call;
  const { control, evalRuns } = context.services;
  const apiKeyId = await requireKey(call);
  const set = requireReferenced(await stores.exampleSets.get(tenant, body.example_set), "example_set");
  const version = await findVersion(call, set, body.version);
  await requireExamplesSeen(context, version);
  const view = requireFound(await control.directory.workspace(tenant), "workspace");
  const variants = await readVariants(call, view);
  const checks = readChecks(call, view);
  requireFitting(await readExamples(version, context.services), variants, checks);
  const organisation = { organisationId: tenant.organisationId, workspaceId: null };
  if ((await stores.evalRuns.count(organisation, { where: { status: "running" } })) >= maxRunning)
    refuseField("example_set", `cannot be run now: ${maxRunning} runs of the organisation are going on`);
  return {
    answer: { id, object },
    columns: {
      apiKeyId,
      setId: set.id,
      version: version.version,
      name: body.name ?? null,
      variants,
      checks,
      winnerBy: body.winner_by ?? "pass_rate",
      minPassRate: body.min_pass_rate ?? 0,
      budget: Math.round(body.budget_usd * nanosOfDollar),
      concurrency: body.concurrency ?? defaultConcurrency,
      status: "running" as const,
      total: version.examples * variants.length,
      createdBy: actor,
      expiresAt: version.expiresAt,
    },
    statements: [stores.secrets.insert(tenant, await createRunKey({ id, ...tenant }, control.vault, now))],
    applied: () => evalRuns.wake(),
  };
}

async function showRun({ row }: FoundRun, { context }: AdminCall<undefined>): Promise<AnswerOf<typeof EvalRunDetail>> {
  const totals = await readTotals(row, context);
  const run = withoutDeniedFigures(toRun(row), await readDenied(context));
  return { ...run, totals, winner: findWinner(row, totals) };
}

async function cancelRun({ stores, now, context }: AdminCall<undefined>, { row, tenant }: FoundRun) {
  if (row.status !== "running") refuseField("status", `must be running; it is ${row.status}`);
  const change = { status: "cancelled" as const, leaseOwner: null, leaseUntil: 0, endedAt: now };
  return {
    answer: { id: row.id, object },
    statements: [stores.evalRuns.update(tenant, { id: row.id, status: "running" }, change)],
    applied: () => context.services.evalRuns.wake(),
  };
}

async function rateAnswer({ body, stores, actor }: AdminCall<RateAnswer>, { row, tenant }: FoundRun) {
  const variant = row.variants.findIndex(({ name }) => name === body.variant);
  if (variant < 0) refuseField("variant", "is no variant of the run");
  const place = { runId: row.id, example: body.example, variant };
  requireReferenced(await stores.evalAnswers.find(tenant, place), "example");
  const isRated = body.rating !== 0;
  const change = { rating: isRated ? body.rating : null, ratedBy: isRated ? actor : null };
  return { answer: { id: row.id, object }, statements: [stores.evalAnswers.update(tenant, place, change)] };
}

async function listResults(call: AdminCall<undefined>, { row }: FoundRun) {
  const page = readPage(call.query, { max: 200 });
  const { results, total } = await readResults(call, row, page);
  return { data: results, total, has_more: page.offset + results.length < total };
}

const kind = defineRecord({
  tag: "Evals",
  path: "/v1/eval-runs",
  words: { one: "an eval run", many: "eval runs" },
  store: "evalRuns",
  audit: "eval_runs",
  // a run calls models with the key that starts it
  access: (verb) => ({ keys: verb === "create" ? "workspace" : "any", scopes: [`prompts.${verb}`] }),
  hasIdsOnly: true,
});

/** An endpoint of a run that is not JSON, or whose work may not happen twice. */
const ownEndpoint = { kind: "admin", errorForm: "admin", tag: "Evals" } as const;

const exportEndpoint: AdminEndpoint = {
  ...ownEndpoint,
  method: "GET",
  path: "/v1/eval-runs/:id/export",
  summary: "Download the results of an eval run as JSON Lines or CSV",
  access: { keys: "any", scopes: ["prompts.read"] },
  query: [{ name: "format", description: "jsonl (default) or csv" }],
  async handleAdmin(_, context) {
    const call = toCall(undefined, context);
    const { row } = await kind.find(call);
    const format = readChoice(call.query, "format", ["jsonl", "csv"]) ?? "jsonl";
    const { results } = await readResults(call, row, { offset: 0, limit: row.total });
    const { type, text } = writeResults(row, results, format);
    const headers = { "content-type": type, "content-disposition": `attachment; filename="eval-${row.id}.${format}"` };
    return { status: 200, headers, body: text };
  },
};

const audit = { resource: "eval_runs", action: "promote", store: "evalRuns" as const };

const promoteEndpoint: AdminEndpoint = {
  ...ownEndpoint,
  method: "POST",
  path: "/v1/eval-runs/:id/promote",
  summary: "Make a variant of an eval run the default: the version of its prompt, or what a saved config calls",
  access: { keys: "any", scopes: ["prompts.update"] },
  audit,
  body: PromoteVariant,
  bodyOptional: true,
  response: PromotedVariant,
  async handleAdmin(body, context) {
    // the endpoint's schema made the value
    const call = toCall(body as PromoteVariant, context);
    const { row, tenant } = await kind.find(call, "update");
    if (row.status === "running") refuseField("status", "must not be running");
    const promoted = await promoteVariant(row, call.body, context);
    const change = call.stores.evalRuns.update(tenant, { id: row.id }, { promoted: promoted.variant });
    await commitAudited(audit, context, async () => ({ statements: [change], recordId: row.id }));
    return jsonReply({ id: row.id, object, ...promoted });
  },
};

/** Endpoints of eval runs. */
export const evalRunEndpoints: readonly AdminEndpoint[] = [
  kind.list({
    summary: "List eval runs, newest first",
    response: EvalRunList,
    query: [{ name: "set_id", description: "One example set, by its id" }],
    select({ query }) {
      const setId = readText(query, "set_id");
      return setId === undefined ? {} : { where: { setId } };
    },
    async show(rows, { context }) {
      const denied = await readDenied(context);
      return rows.map((row) => withoutDeniedFigures(toRun(row), denied));
    },
  }),
  kind.create({
    summary: "Run an example set against variants",
    body: CreateEvalRun,
    response: SavedEvalRun,
    decide: createRun,
  }),
  kind.show({ summary: "Show an eval run with its totals", response: EvalRunDetail, show: showRun }),
  kind.remove({
    summary: "Delete an eval run and its answers",
    before: async (call, { row, tenant }) => removeRuns(call, tenant, [row.id]),
  }),
  kind.write({
    method: "POST",
    at: "/cancel",
    verb: "update",
    action: "cancel",
    summary: "Cancel an eval run",
    response: SavedEvalRun,
    handle: cancelRun,
  }),
  kind.write({
    method: "POST",
    at: "/ratings",
    verb: "update",
    action: "rate",
    summary: "Rate an answer of an eval run",
    body: RateAnswer,
    response: SavedEvalRun,
    handle: rateAnswer,
  }),
  kind.read({
    at: "/results",
    verb: "read",
    summary: "List the examples of an eval run with the answers of each variant",
    query: pageQuery(50, 200),
    response: EvalResultPage,
    handle: listResults,
  }),
  exportEndpoint,
  promoteEndpoint,
];
