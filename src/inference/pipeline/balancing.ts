import type { CallerContext, FinishedCall } from "../../context.ts";
import { type GatewayError, InternalError, InvalidRequestError } from "../../errors.ts";
import { findPriceTiers } from "../../pricing/prices.ts";
import type { BalanceInput } from "../../routing/balance/choose.ts";
import type { CheckedTarget } from "../../routing/balance/health.ts";
import { MeasuredCall, type MeasuredTarget, verdictOf } from "../../routing/balance/measured-call.ts";
import type { Verdict } from "../../routing/balance/target-measure.ts";
import type { CallOutcome } from "../../routing/breaker.ts";
import type { ConfigNode } from "../../routing/config.ts";
import { modelOf } from "../facts/operation-facts.ts";
import { listLeaves, readLeafDestination, storedNameOf } from "../target/config-target.ts";
import type { RequestConfig } from "../target/saved-config.ts";
import { priceListOf } from "../target/stored-provider.ts";
import { breakerKey } from "./breaker-key.ts";
import { createCheckCall } from "./check-call.ts";

/** Input tokens for each token of output, in the price of a target. */
const inputPerOutput = 3;

/** US dollars of a million tokens at the first call of a target. */
function priceOf(
  target: ConfigNode,
  requested: string | undefined,
  { config, context }: { config: RequestConfig; context: CallerContext },
): number | undefined {
  const [leaf = target] = listLeaves(target).filter(({ weight }) => weight > 0);
  const named = storedNameOf(leaf);
  const stored = named && config.view.providers.get(named.slug);
  const slug = stored ? stored.integration.aiProviderId : (leaf.provider ?? context.header("provider"));
  if (slug === null || slug === undefined) return undefined;
  if (context.services.providers.get(slug)?.isFree) return 0;
  const model = modelOf(leaf.merged.overrideParams) ?? named?.model ?? requested;
  if (model === undefined) return undefined;
  // an override may name the stored provider too
  const bare = named && model.startsWith(`@${named.slug}/`) ? model.slice(named.slug.length + 2) : model;
  const [price] = (stored ? priceListOf(stored)(bare) : findPriceTiers(slug, bare))?.prices ?? [];
  const [input, output] = [price?.tokens.get("request_token"), price?.tokens.get("response_token")];
  if (input === undefined && output === undefined) return undefined;
  return ((input ?? 0) * inputPerOutput + (output ?? 0)) / (inputPerOutput + 1);
}

/** What the measures of a config belong to: its tenant, and the saved config or the provider of the request. */
function scopeOf({ slug, id }: RequestConfig, { principal, header }: CallerContext): string {
  const tenant = [principal.organisationId, principal.workspaceId];
  return JSON.stringify(slug === null ? [...tenant, header("provider"), header("custom-host")] : [...tenant, slug, id]);
}

/** The key of a target within its tenant: a group is known by its calls. */
function keyOf(target: ConfigNode, config: RequestConfig, context: CallerContext): string {
  if (config.slug !== null) return target.path;
  const keys = listLeaves(target).map((leaf) => [breakerKey(leaf, config, context), leaf.merged.overrideParams.model]);
  return JSON.stringify(keys);
}

/** The base address of a call. Nothing of the request's record changes. */
async function findHost(
  leaf: ConfigNode,
  { config, context }: { config: RequestConfig; context: CallerContext },
): Promise<string> {
  const settings = leaf.merged;
  const model = modelOf(settings.overrideParams);
  const silent = { ...context, log: { ...context.log, secrets: [] } };
  const { provider, customHost } = await readLeafDestination({ node: leaf, settings, model }, silent);
  const base = customHost ?? provider.baseUrl;
  if (!base) throw new InvalidRequestError(`Cannot check ${config.slug ?? leaf.path}: its provider has no host`);
  return base;
}

function toChecked(target: ConfigNode, parts: { config: RequestConfig; context: CallerContext }): CheckedTarget {
  const [leaf = target] = listLeaves(target).filter(({ weight }) => weight > 0);
  return { findHost: () => findHost(leaf, parts), call: createCheckCall(leaf, parts) };
}

/** What the load balancers of a config need to choose by measure. */
export function toBalanceInput(
  config: RequestConfig,
  params: Readonly<Record<string, unknown>>,
  context: CallerContext,
): BalanceInput {
  const { routing, clock } = context.services;
  const scope = scopeOf(config, context);
  const toKey = (target: ConfigNode) => keyOf(target, config, context);
  return {
    now: clock.monotonic(),
    random: routing.random,
    isStreamed: params.stream === true,
    healthProblemOf: (target, settings) => {
      const { key } = routing.measures.of(target, scope, toKey);
      return routing.health.problemOf(key, settings, () => toChecked(target, { config, context }));
    },
    measureOf: (target) => routing.measures.of(target, scope, toKey),
    priceOf: (target) => priceOf(target, modelOf(params), { config, context }),
  };
}

/** Ends the measured call of a request that runs, if there is one. */
function endMeasured({ log }: CallerContext, verdict: Verdict, endedAt: number): void {
  log.measured?.end({
    verdict,
    endedAt,
    isStreamed: log.stream,
    outputTokens: log.usage?.output_tokens,
  });
  log.measured = null;
}

/** A measured call, and the place of its first call to a provider in the record of its request. */
interface StartedMeasure {
  readonly call: MeasuredCall;
  readonly from: number;
}

/** Begins to measure a call to a target. */
export function startMeasure(targets: readonly MeasuredTarget[], context: CallerContext): StartedMeasure {
  const { log, services } = context;
  const now = services.clock.monotonic();
  endMeasured(context, "unknown", now);
  log.measured = new MeasuredCall(targets, now);
  return { call: log.measured, from: log.calls.length };
}

/** Notes that a measured call was answered, or how it failed. A response is measured when it was sent. */
export function noteMeasured(
  { call, from }: StartedMeasure,
  { outcome, error }: { outcome: CallOutcome; error: GatewayError | undefined },
  context: CallerContext,
): void {
  const { log, services } = context;
  const now = services.clock.monotonic();
  const sent = log.calls[from];
  if (sent) call.sent(sent.startedAt);
  const verdict = outcome === "abandoned" || error instanceof InternalError ? "unknown" : verdictOf(outcome.status);
  if (verdict === "success" && sent) call.answered(now);
  else endMeasured(context, verdict, now);
}

/** Measures the call whose response a request ended with. */
export function settleMeasure({ context, status, endedAt }: FinishedCall): void {
  endMeasured(context, verdictOf(status), endedAt);
}
