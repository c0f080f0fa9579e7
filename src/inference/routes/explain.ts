import { type CallerContext, createHeaderReader, readRequestMetadata, type Services } from "../../context.ts";
import { mergeMetadata } from "../../control/request-metadata.ts";
import { showContent } from "../../control/sealed-contents.ts";
import { requireSight } from "../../endpoint/role.ts";
import { type Endpoint, type JsonBody, operationNameOf } from "../../endpoint.ts";
import { GatewayError, InvalidRequestError } from "../../errors.ts";
import { HeaderMap } from "../../lib/headers.ts";
import { isObject } from "../../lib/json.ts";
import { findPathProblem } from "../../lib/path.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import { matchPath } from "../../lib/route-path.ts";
import { maskAddress } from "../../lib/secret-values.ts";
import type { Destination } from "../../providers/core/call.ts";
import { modelsInBody } from "../../providers/core/model-names.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import type { RecordRoute } from "../../providers/core/records.ts";
import { applyParamOverrides } from "../../routing/param-overrides.ts";
import { listAttempts, type PlannedAttempt } from "../../routing/plan.ts";
import type { StickyStore } from "../../routing/sticky.ts";
import type { ExplainRequest, ExplainResponse } from "../../schemas/explain.ts";
import { requireServed } from "../adapt/operation.ts";
import { decideAuto } from "../choice/auto.ts";
import { findUnfit } from "../choice/model-fit.ts";
import { modelOf } from "../facts/operation-facts.ts";
import { isOwnFileTool } from "../facts/store-ids.ts";
import { namedModel, requireForwardable, requireSingleTarget } from "../passthrough/passthrough.ts";
import { readPassthroughDestination, requireNativeRoute } from "../passthrough/provider-path.ts";
import { planRequest } from "../pipeline/run.ts";
import { withoutOthers } from "../realtime/realtime.ts";
import { requireRecord } from "../records/run-record.ts";
import { isCopied } from "../shadow/shadow.ts";
import { readBodyConfig, withoutChoice } from "../target/body-config.ts";
import { noteUser } from "../target/caller-metadata.ts";
import { readConfigText, readRequestConfig } from "../target/config-source.ts";
import { readLeafDestination } from "../target/config-target.ts";
import { requireKeyModels } from "../target/key-models.ts";
import { requireForwardedModels } from "../target/model-list.ts";
import { requireTargetModel, withTargetModel } from "../target/named-config.ts";
import type { RequestConfig } from "../target/saved-config.ts";
import { readTimeout } from "../target/target.ts";
import { asksForSearch, isSearchingOperation } from "../tools/asks-for-search.ts";
import { findWebSearch } from "../tools/plan-search.ts";
import { toolsOf } from "../tools/responses-search.ts";

type ShownAttempt = ExplainResponse["attempts"][number];

/** The sample request, with the parts that plans and targets read. */
function sampleContext(
  context: CallerContext,
  { headers = {}, metadata = {}, ...request }: ExplainRequest["request"],
  { services, rows }: ExplainParts,
): { context: CallerContext; row: Endpoint | undefined } {
  const sent = new HeaderMap(new Headers(headers));
  const url = new URL(context.url);
  const [pathname = "", ...query] = (request.path ?? "/v1/chat/completions").split("?");
  url.pathname = pathname;
  url.search = query.join("?");
  const problem = findPathProblem(url.pathname);
  if (problem !== undefined) {
    throw new InvalidRequestError(`Cannot explain this path: ${problem}`, {
      code: "invalid_body",
      param: "request.path",
    });
  }
  const { row, params } = findRow(rows, request.method, url.pathname);
  const nativeRoute = row && "nativeRoute" in row && row.nativeRoute;
  const sample: CallerContext = {
    ...context,
    services: withoutCalls(context),
    url,
    params,
    method: row?.method ?? request.method ?? "POST",
    // a sample has no credential: nothing is called with it
    providerCredential: undefined,
    providerAuthorization: undefined,
    headers: sent,
    header: createHeaderReader(sent, services.headerPrefixes),
    log: { ...context.log, operation: (row && operationNameOf(row)) ?? "proxy" },
    ...(nativeRoute && { nativeRoute }),
  };
  sample.metadata = { ...readRequestMetadata(sample), ...metadata };
  return { context: sample, row };
}

/** The endpoint of a path, and its parameters; without a method, the one that has a body. */
function findRow(rows: readonly Endpoint[], method: string | undefined, pathname: string) {
  const fitting = rows.flatMap((row) => {
    const params = matchPath(row.path, pathname);
    return params && (method ?? row.method) === row.method ? [{ row, params }] : [];
  });
  return fitting.find(({ row }) => row.method === "POST") ?? fitting[0] ?? { row: undefined, params: {} };
}

/** Services that call nothing outside: of stored providers, only the gateway's own data is read. */
function withoutCalls({ services }: CallerContext): Services {
  const { control } = services;
  return {
    ...services,
    control: { ...control, credentials: { ...control.credentials, of: control.credentials.withinReach } },
  };
}

/**
 * The operation an endpoint requests from its provider; undefined for passthrough requests.
 *
 * @throws {InvalidRequestError} 400 for an endpoint that renders its request from a saved prompt.
 */
function operationOf(row: Endpoint | undefined): OperationName | undefined {
  if (row && ("handleJson" in row || "handleForm" in row)) {
    const { operation } = row;
    if (operation !== "renderPrompt" && operation !== "completePrompt") return operation;
    throw new InvalidRequestError(
      "Cannot explain this path: render the prompt, and explain the path of the rendered request",
      {
        code: "invalid_body",
        param: "request.path",
      },
    );
  }
  return row && readOperations.find((name) => operationNameOf(row) === name);
}

/** Operations without a body. */
const readOperations = ["realtime", "models"] as const;

/** Remembered choices count; new ones are not remembered. */
function forgetful({ routing }: Pick<Services, "routing">): StickyStore {
  return { get: routing.sticky.get, set: () => {} };
}

/** What showing attempts needs. */
interface Sample {
  context: CallerContext;
  body: Record<string, unknown>;
  config: RequestConfig;
  /** Undefined for passthrough requests. */
  operation: OperationName | undefined;
  /** Route of records that live at a provider. */
  record: RecordRoute | undefined;
}

/**
 * Where an attempt would go, and with which model.
 *
 * @throws {GatewayError} If it could not be made.
 */
async function findTarget({ node, settings }: PlannedAttempt, model: string | undefined, sample: Sample) {
  const { context, operation, config } = sample;
  if (operation) requireTargetModel(config, { path: node.path, model });
  const input = { node, settings, model: operation ? model : namedModel(context) };
  const destination = await readLeafDestination(input, context);
  const { provider, managed } = destination;
  if (operation) requireServed(provider, operation);
  else requirePassed(destination, sample);
  const asked = operation ? (managed?.model ?? model) : model;
  return { provider: provider.slug, host: hostOf(destination, sample), model: asked };
}

/** @throws {GatewayError} If a request cannot be forwarded there, or the provider does not have the route. */
function requirePassed(destination: Destination, { context, body, record }: Sample): void {
  requireForwardable(destination);
  requireNativeRoute(destination, context);
  if (record) {
    requireRecord(record, destination);
    return;
  }
  const model = modelOf(body);
  const passed = readPassthroughDestination(destination, context, model);
  const text = Object.keys(body).length === 0 ? undefined : JSON.stringify(body);
  const { method } = context;
  const headers = context.headers.values();
  requireForwardedModels(destination, {
    method,
    path: passed.path,
    headers,
    body: text === undefined ? undefined : { text },
  });
}

/** Base address of the call; null where nothing is called. */
function hostOf(destination: Destination, { context, body, operation, record }: Sample): string | null {
  const isPassed = !operation && !(record && destination.provider.records);
  const called = isPassed ? readPassthroughDestination(destination, context, modelOf(body)).destination : destination;
  const base = called.customHost ?? (called.provider.baseUrl || null);
  // the path of a stored address may be a credential
  return base !== null && called.managed ? maskAddress(base) : base;
}

/** An attempt as it is shown; the reason why it could not be made is added to the warnings. */
async function showAttempt(attempt: PlannedAttempt, sample: Sample, warnings: string[]): Promise<ShownAttempt> {
  const { node, settings, why } = attempt;
  const { context, body } = sample;
  // passthrough requests go as they came
  const params = sample.operation ? applyParamOverrides(body, settings) : body;
  const model = modelOf(params);
  const { retry, customHost, promptCache } = settings;
  const shown: ShownAttempt = {
    label: node.path,
    provider: node.provider ?? node.virtualKey ?? null,
    model: model ?? null,
    host: customHost ?? null,
    params,
    retry: retry ? { attempts: retry.attempts, on_status_codes: [...retry.onStatusCodes] } : null,
    timeout_ms: readTimeout(context, settings.requestTimeoutMs),
    ...(node.promptId !== undefined && { prompt_id: node.promptId }),
    ...(promptCache && { prompt_cache: { ttl: promptCache.ttl ?? "5m" } }),
    why,
  };
  try {
    const { provider, host, model: asked } = await findTarget(attempt, model, sample);
    if (asked === undefined || asked === model) return { ...shown, provider, host };
    return { ...shown, provider, host, model: asked, params: { ...params, model: asked } };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    warnings.push(`${node.path}: ${error.message}`);
    return shown;
  }
}

/** Who searches the web and files for the request; undefined if it asks for neither. */
async function explainTools({ operation, body, config, context }: Sample): Promise<ExplainResponse["server_tools"]> {
  if (!operation || !isSearchingOperation(operation)) return undefined;
  const files = operation === "responses" ? toolsOf(body).filter(({ type }) => type === "file_search") : [];
  const asksForPages = asksForSearch(operation, body);
  if (files.length === 0 && !asksForPages) return undefined;
  const settings = asksForPages && (await findWebSearch(config, body, { operation, context }));
  return {
    ...(asksForPages && { web_search: settings ? "gateway" : "targets" }),
    ...(files.length > 0 && { file_search: files.some(isOwnFileTool) ? "gateway" : "targets" }),
  };
}

/** The target that gets copies of the request; undefined where it is not copied. */
async function explainShadow(sample: Sample, warnings: string[]): Promise<ExplainResponse["shadow"]> {
  const { operation, body, config, context } = sample;
  const { shadow } = config.node;
  if (!shadow || !operation || !isCopied(operation, body)) return undefined;
  const copy = { ...sample, config: { ...config, node: shadow.target } };
  const attempts: ShownAttempt[] = [];
  try {
    const { root } = planRequest(copy.config, body, { context, sticky: forgetful(context.services) });
    for (const attempt of listAttempts(root)) attempts.push(await showAttempt(attempt, copy, warnings));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    warnings.push(`${shadow.target.path}: ${error.message}`);
  }
  return { share: shadow.share, attempts };
}

/** What an explanation is made from. */
interface ExplainParts {
  services: Services;
  /** Endpoints whose requests configs can route. */
  rows: readonly Endpoint[];
}

/** The request a sample stands for: parameters of its path become fields. */
function readSample({ request }: ExplainRequest, row: Endpoint | undefined, context: CallerContext) {
  const body = isObject(request.body) ? request.body : {};
  if (row && "handleJson" in row && row.toRequest) return row.toRequest(body, context.params);
  if (context.method !== "GET") return body;
  const model = operationOf(row) === "realtime" ? (namedModel(context) ?? modelOf(body)) : undefined;
  return model === undefined ? {} : { model };
}

/** The given config, or the one that the sample request would use. */
function findConfig(
  { config }: ExplainRequest,
  { context, caller, model }: { context: CallerContext; caller: CallerContext; model: string | undefined },
): RequestConfig | Promise<RequestConfig> {
  if (config === undefined) return readRequestConfig(context, model);
  return readConfigText(typeof config === "string" ? config : JSON.stringify(config), caller);
}

/** `POST /configs/explain`: what a config would do with a request. Nothing is called. */
export async function explainConfig(
  { value }: JsonBody<ExplainRequest>,
  caller: CallerContext,
  parts: ExplainParts,
): Promise<Reply> {
  const { services } = parts;
  const { request } = value;
  const { context, row } = sampleContext(caller, request, parts);
  const operation = operationOf(row);
  const record = row && "record" in row ? row.record : undefined;
  const body = readSample(value, row, context);
  const given = await findConfig(value, { context, caller, model: operation && modelOf(body) });
  const chosen = operation && readBodyConfig(given, { operation, value: body }, context);
  if (operation && value.config === undefined) {
    requireKeyModels({ named: modelsInBody(body), model: modelOf(body), needsModel: given.isImplied }, context);
  }
  const found = chosen ?? given;
  // the plan shows fields of a saved config
  if (found.slug !== null) await requireSight(caller, "configs.read");
  if (!operation) requireSingleTarget(found, context);
  // over those of a real request
  context.metadata = mergeMetadata(context.metadata, context.principal, found.view);
  if (operation) noteUser(context, body);
  context.log.model = modelOf(body) ?? null;
  const facts = record ? {} : body;
  const unfit = operation && (await findUnfit(found, { operation, value: body }, context));
  const auto = operation && (await decideAuto(found, { operation, value: body, mayCall: false }, context));
  const { root, ...plan } = planRequest(found, facts, { context, sticky: forgetful(services), unfit, auto });
  const warnings = [
    ...plan.unfit.map(({ label, reason }) => `${label}: left out, ${reason}`),
    ...plan.skipped.map(({ path, why }) => `${path}: left out, ${why}`),
  ];
  const sample: Sample = {
    context,
    body: withTargetModel(chosen ? withoutChoice(body) : body, found),
    config: found,
    operation,
    record,
  };
  const attempts: ShownAttempt[] = [];
  for (const attempt of listAttempts(operation === "realtime" ? withoutOthers(root) : root)) {
    attempts.push(await showAttempt(attempt, sample, warnings));
  }
  const { contentRules } = services;
  const tools = await explainTools(sample);
  const shadow = await explainShadow(sample, warnings);
  // as when the saved config itself is shown
  const show = (shown: readonly ShownAttempt[]) =>
    found.slug === null ? [...shown] : shown.map((attempt) => showContent(attempt, contentRules));
  const answer: ExplainResponse = {
    object: "plan",
    ...(found.named && { alias: { name: found.named.name, target: found.named.leadsTo } }),
    attempts: show(attempts),
    ...(shadow && { shadow: { share: shadow.share, attempts: show(shadow.attempts) } }),
    ...(tools && { server_tools: tools }),
    conditions: [...plan.conditions],
    ...(plan.auto.length > 0 && {
      auto: plan.auto.map(({ label, target, by, reason }) => ({ label, target, by, reason })),
    }),
    warnings,
  };
  return jsonReply(answer);
}
