import { type CallerContext, createHeaderReader, readRequestMetadata, type Services } from "../context.ts";
import type { JsonBody } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { HeaderMap } from "../lib/headers.ts";
import { isObject } from "../lib/json.ts";
import { jsonReply, type Reply } from "../lib/reply.ts";
import type { OperationName } from "../providers/operations.ts";
import { applyOverlays } from "../routing/overlays.ts";
import { listAttempts, type PlannedAttempt } from "../routing/plan.ts";
import type { StickyStore } from "../routing/sticky.ts";
import type { ExplainRequest, ExplainResponse } from "../schemas/explain.ts";
import { readConfigText } from "./config-source.ts";
import { readLeafDestination } from "./leaf.ts";
import { requireServed } from "./operation.ts";
import { requirePassable, requireSingleTarget } from "./passthrough.ts";
import { planRequest } from "./run.ts";
import { requireModelOfBody } from "./stored-provider.ts";
import { readTimeout } from "./target.ts";

type ShownAttempt = ExplainResponse["attempts"][number];

/** The request a plan is made for, as far as plans and targets ask for it. */
function sampleContext(
  context: CallerContext,
  { path, headers = {}, metadata = {} }: ExplainRequest["request"],
  { headerPrefixes }: Services,
): CallerContext {
  const sent = new HeaderMap(new Headers(headers));
  const url = new URL(context.url);
  url.pathname = path ?? "/v1/chat/completions";
  const sample: CallerContext = {
    ...context,
    url,
    // a sample brings no credential: nothing is called with it
    providerCredential: undefined,
    headers: sent,
    header: createHeaderReader(sent, headerPrefixes),
    log: { ...context.log },
  };
  // what the key says wins, as it does over a real request
  sample.metadata = { ...readRequestMetadata(sample), ...metadata, ...context.principal.defaults.metadata };
  return sample;
}

/** Services of which none is asked outside: of stored providers, only what the gateway itself keeps is read. */
function withoutCalls(services: Services): Services {
  const { control } = services;
  return {
    ...services,
    control: { ...control, credentials: { ...control.credentials, of: control.credentials.withinReach } },
  };
}

/** What paths ask for whose bodies are read and changed; every other one passes through. */
const unifiedPaths: ReadonlyMap<string, OperationName> = new Map([
  ["/v1/chat/completions", "chat"],
  ["/v1/completions", "complete"],
  ["/v1/embeddings", "embed"],
  ["/v1/rerank", "rerank"],
  ["/v1/v2/rerank", "rerank"],
  ["/v1/moderations", "moderate"],
  ["/v1/ocr", "ocr"],
  ["/v1/decisions", "decide"],
  ["/v1/messages", "messages"],
  ["/v1/messages/count_tokens", "countTokens"],
  ["/v1/responses", "responses"],
]);

function modelOf({ model }: Record<string, unknown>): string | undefined {
  return typeof model === "string" ? model : undefined;
}

/** Choices that were made before count; new ones are not remembered. */
function forgetful({ routing }: Services): StickyStore {
  return { get: routing.sticky.get, set: () => {} };
}

/** What attempts are shown for. */
interface Sample {
  context: CallerContext;
  services: Services;
  body: Record<string, unknown>;
  /** Undefined for what passes through. */
  operation: OperationName | undefined;
}

/**
 * Where an attempt would go, and with which model.
 *
 * @throws {GatewayError} If it could not be made.
 */
async function findTarget({ node, settings }: PlannedAttempt, model: string | undefined, sample: Sample) {
  const { context, services, operation } = sample;
  const input = { node, settings, model: operation ? model : undefined };
  const destination = await readLeafDestination(input, context, services);
  const { provider, customHost, managed } = destination;
  if (operation) requireServed(provider, operation);
  else {
    requirePassable(destination);
    requireModelOfBody(destination, { model: model ?? null, isRead: true });
  }
  const asked = operation ? (managed?.model ?? model) : model;
  return { provider: provider.slug, host: customHost ?? (provider.baseUrl || null), model: asked };
}

/** An attempt as it is shown; why it could not be made goes to the warnings. */
async function showAttempt(attempt: PlannedAttempt, sample: Sample, warnings: string[]): Promise<ShownAttempt> {
  const { node, settings, why } = attempt;
  const { context, services, body } = sample;
  // what passes through goes as it came
  const params = sample.operation ? applyOverlays(body, settings) : body;
  const model = modelOf(params);
  const { retry, customHost } = settings;
  const shown: ShownAttempt = {
    ...{ label: node.path, provider: node.provider ?? node.virtualKey ?? null, model: model ?? null },
    ...{ host: customHost ?? null, params },
    retry: retry ? { attempts: retry.attempts, on_status_codes: [...retry.onStatusCodes] } : null,
    timeout_ms: readTimeout(context, services, settings.requestTimeoutMs),
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

/** `POST /configs/explain`: what a config would do with a request. Nothing is called. */
export async function explainConfig(
  { value }: JsonBody<ExplainRequest>,
  caller: CallerContext,
  services: Services,
): Promise<Reply> {
  const { config, request } = value;
  const context = sampleContext(caller, request, services);
  const operation = unifiedPaths.get(context.url.pathname);
  const found = await readConfigText(typeof config === "string" ? config : JSON.stringify(config), caller, services);
  if (!operation) requireSingleTarget(found, context);
  const body = isObject(request.body) ? request.body : {};
  const model = modelOf(body);
  // of what passes through, only the model is looked at
  const facts = operation ? body : model === undefined ? {} : { model };
  const plan = planRequest(found, facts, { context, services, sticky: forgetful(services) });
  const warnings = plan.skipped.map((label) => `${label}: left out, its circuit breaker is open`);
  const sample: Sample = { context, services: withoutCalls(services), body, operation };
  const attempts: ShownAttempt[] = [];
  for (const attempt of listAttempts(plan.root)) attempts.push(await showAttempt(attempt, sample, warnings));
  const answer: ExplainResponse = { object: "plan", attempts, conditions: [...plan.conditions], warnings };
  return jsonReply(answer);
}
