import { toPrincipal } from "../../auth/authenticate.ts";
import { noDefaults, type Principal } from "../../auth/principal.ts";
import type { StoredAlias } from "../../control/alias-library.ts";
import {
  holderOfAccess,
  holderOfAlias,
  holderOfKey,
  holderOfProvider,
  holderOfWorkspace,
} from "../../control/limit-holders.ts";
import { toRatePolicy, toUsagePolicy } from "../../control/policy-library.ts";
import type { StoredProvider } from "../../control/provider-library.ts";
import { mergeMetadata } from "../../control/request-metadata.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { joinStoredName, readStoredName } from "../../control/stored-name.ts";
import type { RateLimitPolicyRow } from "../../db/tables/policies.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { readMetadata } from "../../lib/metadata.ts";
import { type AppliedLimit, type LimitHolder, limitsOf, toShownUse } from "../../policies/applied.ts";
import type { Subject } from "../../policies/conditions.ts";
import { explainPolicy, type Verdict } from "../../policies/explain.ts";
import type { Limit, LimitStore } from "../../policies/limit-store.ts";
import type { ActivePolicy } from "../../policies/policy-set.ts";
import type { LimitQueues } from "../../policies/queue/limit-queues.ts";
import { PolicyPlan } from "../../schemas/policies.ts";
import { type AdminCall, defineRead } from "../core/endpoint.ts";
import { pageQuery, workspaceQuery } from "../core/record.ts";
import {
  isRecordId,
  type Page,
  readPage,
  readTenant,
  readText,
  refuseField,
  requireFound,
  requireReferenced,
  toIso,
} from "../core/request.ts";

type Entry = PolicyPlan["policies"][number];

/** Whose request is explained. */
interface Sample {
  tenant: Tenant & { workspaceId: string };
  view: WorkspaceView;
  /** Undefined where an admin key names none. */
  key: Pick<Principal, "keyId" | "organisationId" | "limits" | "userId" | "person" | "defaults"> | undefined;
}

/** The key a query names, in the workspace of the caller or in the one it names. */
async function readNamedKey(call: AdminCall<undefined>, tenant: Tenant): Promise<Principal | undefined> {
  const id = readText(call.query, "api_key_id")?.toLowerCase();
  if (id === undefined) return call.context.principal.workspaceId === null ? undefined : call.context.principal;
  const row = isRecordId(id) ? await call.stores.apiKeys.find(tenant, { id, status: "active" }) : undefined;
  return toPrincipal(requireFound(row, "API key"));
}

async function readSample(call: AdminCall<undefined>): Promise<Sample> {
  const tenant = await readTenant(call);
  const key = await readNamedKey(call, tenant);
  if (key?.workspaceId === null) refuseField("api_key_id", "must be a key of a workspace");
  const workspaceId =
    key?.workspaceId ??
    tenant.workspaceId ??
    refuseField("workspace_id", "must be given with a key of the organisation, or else api_key_id");
  const own = { organisationId: tenant.organisationId, workspaceId };
  const view = requireFound(await call.context.services.control.directory.workspace(own), "workspace");
  call.context.namedWorkspaceId = workspaceId;
  return { tenant: own, view, key };
}

/** Where the request goes. */
interface Target {
  provider: string;
  stored: StoredProvider | undefined;
  /** The alias that the request names as its model. */
  alias: StoredAlias | undefined;
  models: string[][];
}

/** @throws {NotFoundError} AB02, naming the parameter with an unknown provider. */
function readTarget({ query, context }: AdminCall<undefined>, { providers, modelAliases }: WorkspaceView): Target {
  const provider = readText(query, "provider");
  const model = readText(query, "model");
  const isPlain = provider !== undefined && context.services.providers.get(provider) !== undefined;
  const beside =
    provider === undefined ? undefined : (readStoredName(provider) ?? { slug: provider, model: undefined });
  const alias = provider === undefined && model !== undefined ? modelAliases?.get(model) : undefined;
  const asked = alias && "model" in alias.row.target ? alias.row.target.model : model;
  const named = isPlain ? undefined : joinStoredName(beside, asked);
  const stored = named && requireReferenced(providers.get(named.slug), beside ? "provider" : "model");
  const called = named?.model ?? asked;
  const models = [called, alias?.row.name].filter((name) => name !== undefined).map((name) => [name]);
  return { provider: stored?.integration.aiProviderId ?? provider ?? "", stored, alias, models };
}

/** @throws {InvalidRequestError} AB01 for anything but a JSON object of plain values. */
function readSampleMetadata({ query }: AdminCall<undefined>, { view, key }: Sample) {
  const text = readText(query, "metadata");
  const sent = text === undefined ? {} : readMetadata(text);
  if (!sent) return refuseField("metadata", "must be a JSON object of strings");
  return mergeMetadata(sent, key ?? { userId: null, defaults: noDefaults }, view);
}

/** The tool call that is explained; undefined for a request to a model. */
async function readTool({ query, context }: AdminCall<undefined>, { tenant, key }: Sample): Promise<Subject["tool"]> {
  const server = readText(query, "mcp_server");
  const name = readText(query, "mcp_tool");
  if (server === undefined && name === undefined) return undefined;
  const found = server === undefined ? undefined : await context.services.mcpServers.find(tenant, server);
  return { server: [server ?? "", found?.id ?? ""], name: [name ?? ""], userId: key?.userId ?? null };
}

function toSubject(
  call: AdminCall<undefined>,
  sample: Sample,
  { provider, stored, models, tool }: Target & { tool: Subject["tool"] },
): Subject {
  const { query } = call;
  const { view, key } = sample;
  return {
    organisationId: view.organisation.id,
    workspaceId: view.workspace.id,
    workspaceSlug: view.workspace.slug,
    apiKey: key?.keyId ?? "",
    virtualKey: stored?.row.slug ?? null,
    provider,
    config: readText(query, "config") ?? null,
    prompt: readText(query, "prompt") ?? null,
    models,
    endpointType: readText(query, "endpoint_type") ?? "",
    metadata: readSampleMetadata(call, sample),
    ...(tool && { tool }),
  };
}

/** Use of a limit that does not apply. */
const noUse = { used: null, reserved: null, left: null, resets_at: null };

async function showUse(limit: Limit, bucket: string | null, store: LimitStore) {
  if (bucket === null) return noUse;
  const { used, reserved, span } = await store.read(limit, bucket);
  return {
    used: toShownUse(limit, used),
    reserved: toShownUse(limit, reserved),
    left: toShownUse(limit, Math.max(0, limit.most - used - reserved)),
    resets_at: Number.isFinite(span.end) ? toIso(span.end) : null,
  };
}

/** Where the use of limits is read. */
interface Counters {
  readonly limitStore: LimitStore;
  readonly limitQueues: Pick<LimitQueues, "waitingFor">;
}

/** One limit of the plan. */
async function toEntry(
  { id, kind, limit, queue }: Pick<AppliedLimit, "kind" | "limit" | "queue"> & { id: string },
  { holder, verdict }: { holder: Entry["holder"]; verdict: Verdict },
  { limitStore, limitQueues }: Counters,
): Promise<Entry> {
  const { applies, why, bucket } = verdict;
  const shown = {
    applies,
    why,
    bucket,
    limit: toShownUse(limit, limit.most),
    ...(await showUse(limit, bucket, limitStore)),
    queue: queue ? { ...queue, waiting: bucket === null ? 0 : limitQueues.waitingFor({ limit, bucket }) } : null,
  };
  return { id, holder, kind, type: limit.counts, ...shown };
}

/** The limits of records that the request meets. */
function listHolders({ view, key }: Sample, { stored, alias }: Target): [Entry["holder"], LimitHolder][] {
  const holders: [Entry["holder"], LimitHolder | undefined][] = [
    ["api_key", key?.limits && holderOfKey({ id: key.keyId, organisationId: key.organisationId }, key.limits)],
    ["workspace", holderOfWorkspace(view.workspace)],
    ["provider", stored && holderOfProvider(stored.row)],
    ["integration", stored?.access && holderOfAccess(stored.access)],
    ["model_alias", alias && holderOfAlias(alias.row)],
  ];
  return holders.filter((entry): entry is [Entry["holder"], LimitHolder] => entry[1] !== undefined);
}

function explainHolders(sample: Sample, target: Target, counters: Counters): Promise<Entry>[] {
  return listHolders(sample, target).flatMap(([holder, record]) =>
    limitsOf(record).map(({ bucket, ...applied }) => {
      const verdict = { applies: true, why: `It is a limit of the ${record.holder}`, bucket };
      return toEntry({ ...applied, id: record.id }, { holder, verdict }, counters);
    }),
  );
}

const ofTools: Verdict = { applies: false, why: "It limits calls of MCP tools", bucket: null };
const ofModels: Verdict = { applies: false, why: "It limits requests to models", bucket: null };

/** A page of the active policies of a workspace, usage limits first. */
async function listActive({ stores }: AdminCall<undefined>, tenant: Tenant, { offset, limit }: Page) {
  const where = { status: "active" } as const;
  const usage = await stores.usageLimitPolicies.list(tenant, { where, page: { offset, limit } });
  const rest = { offset: Math.max(0, offset - usage.total), limit: limit - usage.rows.length };
  const rates = await stores.rateLimitPolicies.list(tenant, { where, page: rest });
  return { usage: usage.rows, rates: rates.rows, total: usage.total + rates.total };
}

const isOfTools = ({ target }: RateLimitPolicyRow): boolean => target === "mcp_tools";

async function explain(call: AdminCall<undefined>): Promise<PolicyPlan> {
  const { services } = call.context;
  const page = readPage(call.query, { max: 100 });
  const sample = await readSample(call);
  const target = readTarget(call, sample.view);
  const tool = await readTool(call, sample);
  const subject = toSubject(call, sample, { ...target, tool });
  const other = tool ? ofModels : undefined;
  const verdictOf = (row: RateLimitPolicyRow) =>
    isOfTools(row) === (tool !== undefined) ? undefined : (other ?? ofTools);
  const { usage, rates, total } = await listActive(call, sample.tenant, page);
  const show = (policy: ActivePolicy, verdict = explainPolicy(policy, subject)) =>
    toEntry(policy, { holder: "policy", verdict }, services);
  const entries = [
    ...(page.offset === 0 && !tool ? explainHolders(sample, target, services) : []),
    ...usage.map((row) => show(toUsagePolicy(row), other)),
    ...rates.map((row) => show(toRatePolicy(row), verdictOf(row))),
  ];
  return { object: "policy_plan", total, policies: await Promise.all(entries) };
}

/** The endpoint that shows which limits a request would meet. */
export const explainPolicyEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    tag: "Policies",
    path: "/v1/policies/explain",
    method: "GET",
    summary: "Show which limits a request would meet, and what is left of them",
    access: { keys: "any", scopes: ["policies.read", "policies.list"] },
    query: [
      workspaceQuery,
      { name: "api_key_id", description: "Key of the request; default: the caller's own, if it is of a workspace" },
      { name: "model", description: "Model of the request, also as @provider/model" },
      { name: "provider", description: "Provider of the request: its name, or the slug of a stored one" },
      { name: "metadata", description: "Metadata of the request: a JSON object" },
      { name: "config", description: "Slug of its saved config" },
      { name: "prompt", description: "Slug of its saved prompt" },
      { name: "endpoint_type", description: "Its type, as guardrails name it" },
      { name: "mcp_server", description: "Slug of the MCP server, for a call of one of its tools" },
      { name: "mcp_tool", description: "Name of the tool that is called" },
      ...pageQuery(50, 100),
    ],
    response: PolicyPlan,
    handle: explain,
  }),
];
