import type { CallerContext, Services } from "../context.ts";
import type { JsonBody } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { HeaderMap } from "../lib/headers.ts";
import { isObject } from "../lib/json.ts";
import { jsonReply, type Reply } from "../lib/reply.ts";
import { applyOverlays } from "../routing/overlays.ts";
import { listAttempts, type PlannedAttempt } from "../routing/plan.ts";
import type { StickyStore } from "../routing/sticky.ts";
import type { ExplainRequest, ExplainResponse } from "../schemas/explain.ts";
import { readConfigText } from "./config-source.ts";
import { readLeafDestination } from "./leaf.ts";
import { planRequest } from "./run.ts";
import { readTimeout } from "./target.ts";

type ShownAttempt = ExplainResponse["attempts"][number];

/** The request a plan is made for, as far as plans and targets ask for it. */
function sampleContext(
  context: CallerContext,
  { path, headers = {}, metadata = {} }: ExplainRequest["request"],
): CallerContext {
  const sent = new HeaderMap(new Headers(headers));
  const url = new URL(context.url);
  url.pathname = path ?? "/v1/chat/completions";
  return {
    ...context,
    url,
    metadata: { ...context.principal.defaults.metadata, ...metadata },
    // a sample brings no credential: nothing is called with it
    providerCredential: undefined,
    headers: sent,
    header: (name) => sent.get(`x-gateway-${name}`) ?? null,
    log: { ...context.log },
  };
}

/** Choices that were made before count; new ones are not remembered. */
function forgetful({ routing }: Services): StickyStore {
  return { get: routing.sticky.get, set: () => {} };
}

/** Without what would call anything: where an attempt would go, and with what. */
async function showAttempt(
  { node, settings, why }: PlannedAttempt,
  body: Record<string, unknown>,
  context: CallerContext,
  { services, warnings }: { services: Services; warnings: string[] },
): Promise<ShownAttempt> {
  const params = applyOverlays(body, settings);
  const model = typeof params.model === "string" ? params.model : undefined;
  const shown = {
    label: node.path,
    provider: node.provider ?? node.virtualKey ?? null,
    model: model ?? null,
    host: settings.customHost ?? null,
    params,
    retry: settings.retry
      ? { attempts: settings.retry.attempts, on_status_codes: [...settings.retry.onStatusCodes] }
      : null,
    timeout_ms: readTimeout(context, services, settings.requestTimeoutMs),
    why,
  };
  try {
    const destination = await readLeafDestination({ node, settings, model }, context, services);
    const { provider, customHost, managed } = destination;
    const asked = managed?.model ?? model;
    const sent = asked === undefined || asked === params.model ? params : { ...params, model: asked };
    return {
      ...shown,
      provider: provider.slug,
      model: asked ?? null,
      host: customHost ?? provider.baseUrl,
      params: sent,
    };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    warnings.push(`${node.path}: ${error.message}`);
    return shown;
  }
}

/** `POST /configs/explain`: what a config would do with a request. Nothing is called. */
export async function explainConfig(
  { value }: JsonBody<ExplainRequest>,
  context: CallerContext,
  services: Services,
): Promise<Reply> {
  const { config, request } = value;
  const sample = sampleContext(context, request);
  const found = await readConfigText(typeof config === "string" ? config : JSON.stringify(config), context, services);
  const body = isObject(request.body) ? request.body : {};
  const plan = planRequest(found, body, { context: sample, services, sticky: forgetful(services) });
  const warnings = plan.skipped.map((label) => `${label}: left out, its circuit breaker is open`);
  const attempts: ShownAttempt[] = [];
  for (const attempt of listAttempts(plan.root)) {
    attempts.push(await showAttempt(attempt, body, sample, { services, warnings }));
  }
  const answer: ExplainResponse = { object: "plan", attempts, conditions: [...plan.conditions], warnings };
  return jsonReply(answer);
}
