import type { CallerContext } from "../../context.ts";
import type { StoreResponse } from "../../dialects/types.ts";
import { requireBody } from "../../endpoint/body.ts";
import type { JsonBody } from "../../endpoint.ts";
import { GatewayError, InvalidRequestError } from "../../errors.ts";
import { ExactNumbers } from "../../lib/exact-numbers.ts";
import type { Reply } from "../../lib/reply.ts";
import { modelsInBody } from "../../providers/core/model-names.ts";
import type { OperationName, Operations } from "../../providers/core/operations.ts";
import { applyParamOverrides } from "../../routing/param-overrides.ts";
import {
  isFixed,
  type Plan,
  PlanError,
  type PlannedAttempt,
  planAttempts,
  RefusedTargetError,
} from "../../routing/plan.ts";
import type { StickyStore } from "../../routing/sticky.ts";
import { openCachedCall } from "../cache/cached-call.ts";
import { noteDiscarded } from "../call/cost.ts";
import { routingHeaders } from "../call/provider-response.ts";
import { type AutoDecisions, decideAuto } from "../choice/auto.ts";
import { toAutoRecord } from "../choice/auto-log.ts";
import { findUnfit, type UnfitLeaves } from "../choice/model-fit.ts";
import { toHookResults } from "../facts/hook-results.ts";
import { isStreamed, modelOf } from "../facts/operation-facts.ts";
import { kindOf } from "../facts/request-types.ts";
import { withinRequest } from "../guard/request-deadline.ts";
import { RequestGuard } from "../guard/request-guard.ts";
import { answerSoftly } from "../guard/soft-denial.ts";
import { noteShadow } from "../shadow/shadow.ts";
import { toStreamed } from "../stream/replay.ts";
import { readBodyConfig, withoutChoice } from "../target/body-config.ts";
import { atPrompt, type TargetPrompts } from "../target/config-prompts.ts";
import { readRequestConfig } from "../target/config-source.ts";
import { readLeafDestination } from "../target/config-target.ts";
import { withModelBeside } from "../target/incomplete-request.ts";
import { requireKeyModels } from "../target/key-models.ts";
import { nameTarget, requireTargetModel, withTargetModel } from "../target/named-config.ts";
import type { RequestConfig } from "../target/saved-config.ts";
import { readLabelRefusal } from "../target/target-labels.ts";
import { inspectReply } from "./answer-code.ts";
import { toBalanceInput } from "./balancing.ts";
import { breakerKey } from "./breaker-key.ts";
import { callTarget, type Target } from "./call-target.ts";
import { stepsOf } from "./config-steps.ts";
import { type Caller, executePlan } from "./execute.ts";
import { isStreamedForm, type SentForm } from "./media.ts";

/** Inputs of a plan. */
interface PlanParts {
  context: CallerContext;

  /** Where weighted choices are remembered; by default for later requests too. */
  sticky?: StickyStore;
  /** Leaves whose models lack what the request needs. Absent: none does. */
  unfit?: UnfitLeaves | undefined;
  /** What groups decided that go by what is in the request. */
  auto?: AutoDecisions | undefined;
}

/**
 * The plan of a config for a request.
 *
 * @param params Top-level fields of the body.
 * @throws {InvalidRequestError} 400 if it leads to no target.
 */
export function planRequest(
  config: RequestConfig,
  params: Readonly<Record<string, unknown>>,
  { context, sticky = context.services.routing.sticky, unfit, auto }: PlanParts,
): Plan {
  const { routing } = context.services;
  const { principal } = context;
  const steps = stepsOf(config, context.services);
  const refusalOf = steps.labels ? readLabelRefusal(config, params.model, context) : undefined;
  const isUsual = !unfit && !refusalOf;
  if (isUsual && steps.plan) return steps.plan;
  try {
    const plan = planAttempts(config.node, {
      facts: { metadata: context.metadata, params, pathname: context.url.pathname },
      headers: context.headers,
      identity: JSON.stringify([principal.organisationId, principal.workspaceId, principal.keyId]),
      configId: config.id,
      random: routing.random,
      sticky,
      unfit,
      auto,
      isOpen: (leaf, breaker) => routing.breakers.state(breakerKey(leaf, config, context), breaker) === "open",
      balanceInput: () => toBalanceInput(config, params, context),
      refusalOf,
    });
    if (isUsual && isFixed(config.node)) steps.plan = plan;
    return plan;
  } catch (cause) {
    if (!(cause instanceof PlanError)) throw cause;
    if (cause instanceof RefusedTargetError) throw cause.refusal;
    throw new InvalidRequestError(`${cause.message} (${cause.path})`, {
      cause,
      code: "invalid_config",
      param: "x-gateway-config",
    });
  }
}

/** Runs a plan and records its course for the log; its last error names the target it came from. */
export async function runPlan<Value>(
  config: RequestConfig,
  plan: Plan,
  caller: Caller<Value>,
  context: CallerContext,
): Promise<Value> {
  const { log } = context;
  log.configSlug = config.slug;
  if (plan.skipped.length > 0) log.skipped = plan.skipped.map(({ path }) => path);
  log.unfit = plan.unfit;
  log.auto = plan.auto.length > 0 ? toAutoRecord(plan, log.given ?? {}, config) : null;
  log.savedConfig = config.saved ?? null;
  log.mode = config.node.strategy?.mode ?? "single";
  try {
    const { root } = plan;
    // without a config: one attempt without circuit breaker, time limit or retries
    const isAlone = config.isImplied && root.kind === "attempt";
    return await (isAlone
      ? caller.call(root.attempt, { deadline: undefined })
      : executePlan(caller, { context, config, root }));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    nameTarget(error, config);
    Object.assign(error.headers, routingHeaders(log.provider ?? "", log));
    if (log.hooks && log.hooks.before.length > 0) error.hookResults ??= toHookResults(log.hooks);
    throw error;
  }
}

/** Makes one call of a request to one target. */
type CallOne<Request> = (request: Request, target: Target) => Promise<Reply>;

/** What finding and calling the targets of a request needs. */
interface TargetParts {
  context: CallerContext;

  /** Saved prompts that targets name, by their names there. Absent: none does. */
  prompts?: TargetPrompts | undefined;

  /** False where the body can be sent only once. Default: true. */
  canRepeat?: boolean;
  /** Whether a streamed response is requested. Default: by the request's `stream`. */
  streamed?: boolean;
  /** The request's operation, for guardrails and denials. */
  operation: OperationName;
  /** What the request must match once its config completed it. Absent: it is complete. */
  schema?: JsonBody<unknown>["schema"] | undefined;
  /** Stores a response that may be read again. Absent: it is not stored. */
  store?: StoreResponse | undefined;
}

/** Ends a response that another call replaces, and records what it costs: a stream costs what came until then. */
async function discardReply({ status, body, finished }: Reply, context: CallerContext): Promise<void> {
  if (body instanceof ReadableStream) {
    await body.cancel().catch(() => {});
    await finished;
  }
  if (status >= 200 && status <= 299) noteDiscarded(context);
}

/** Makes the calls of a request. */
function createCaller<Request extends Record<string, unknown>>(
  value: Request,
  call: CallOne<Request>,
  { context, operation, canRepeat = true, schema, store, prompts }: TargetParts,
  config: RequestConfig,
): Caller<Reply> {
  const { view } = config;
  const { prompt } = context.log;
  const guard = stepsOf(config, context.services).guards
    ? new RequestGuard(kindOf(operation), view, context)
    : undefined;
  return {
    async call(attempt: PlannedAttempt, { deadline }) {
      const { settings } = attempt;
      const own = prompts?.get(attempt.node.promptId ?? "");
      const node = own ? atPrompt(attempt.node, own) : attempt.node;
      const base = own ? withTargetModel(own.request as Request, config) : value; // a request of the same operation
      context.log.prompt = own?.record ?? prompt;
      const set = attempt.changesBody ? applyParamOverrides(base, settings) : base;
      const overlaid = Object.hasOwn(set, "model") ? set : withModelBeside(set, node, context);
      if (config.named) requireTargetModel(config, { path: node.path, model: modelOf(overlaid) });
      if (schema) requireBody(schema, overlaid);
      context.log.model = modelOf(overlaid) ?? null;
      const entering = guard?.enter(attempt, overlaid, { isBare: operation === "models" });
      const guarded = entering && (await withinRequest(entering, deadline, context));
      const stored = guarded ? guarded.begin(deadline, store) : store;
      // guardrails change fields, never the operation
      const request = guarded ? (guarded.request as Request) : overlaid;
      const model = modelOf(request);
      context.log.model = model ?? null;
      const destination = await readLeafDestination({ node, settings, model }, context);
      context.log.model = destination.managed?.model ?? model ?? null;
      const target = { destination, settings, deadline, guard: guarded, store: stored };
      const asksForCache = settings.cache !== undefined || context.header("cache") !== null;
      const asked = { operation, node, view, target };
      const cached = asksForCache ? await openCachedCall(asked, request, context) : undefined;
      // awaited here: returning the promise costs two more turns
      if (!cached) return guarded ? await guarded.finish(await call(request, target)) : await call(request, target);
      try {
        const reply = (await cached.find()) ?? (await cached.lead((shared) => call(request, { ...target, ...shared })));
        return cached.settle(guarded ? await guarded.finish(reply) : reply);
      } finally {
        cached.release();
      }
    },
    responseOf: ({ status }) => ({ status }),
    inspect: inspectReply,
    discard: (reply) => discardReply(reply, context),
    canRepeat,
  };
}

/** Numbers in the config are sent too. */
function addNumbers(context: CallerContext, numbers: ExactNumbers): void {
  const both = new ExactNumbers();
  both.join(context.numbers);
  both.join(numbers);
  context.numbers = both;
}

/** Finds the targets of a request and calls them by its config. */
export async function runTargets<Request extends Record<string, unknown>>(
  value: Request,
  call: CallOne<Request>,
  parts: TargetParts,
): Promise<Reply> {
  const { context, operation, streamed } = parts;
  const { log } = context;
  const model = modelOf(value);
  log.given = value;
  log.model = model ?? null;
  log.requestedModel = log.model;
  log.stream = streamed ?? Reflect.get(value, "stream") === true;
  const given = readRequestConfig(context, model);
  const found = given instanceof Promise ? await given : given;
  const names = value.models !== undefined || value.provider !== undefined;
  const chosen = names ? readBodyConfig(found, { operation, value }, context) : undefined;
  const config = chosen ?? found;
  log.named = config.named ?? null;
  if (context.principal.allowedModels && operation !== "models") {
    requireKeyModels({ named: modelsInBody(value), model, needsModel: config.isImplied }, context);
  }
  try {
    const steps = stepsOf(config, context.services);
    if (steps.numbers) addNumbers(context, steps.numbers);
    const unfit = steps.fits ? await findUnfit(config, { operation, value }, context) : undefined;
    const auto = steps.decides ? await decideAuto(config, { operation, value }, context) : undefined;
    const plan = planRequest(config, value, { ...parts, unfit, auto });
    if (config.node.shadow) noteShadow(config, { operation, value }, context);
    const asked = chosen ? withoutChoice(value) : value;
    const caller = createCaller(config.named ? withTargetModel(asked, config) : asked, call, parts, config);
    // awaited here: returning the promise costs two more turns
    const reply = await runPlan(config, plan, caller, context);
    // the response was made before it was known that the retries are used up
    if (log.retries === -1) Object.assign(reply.headers, routingHeaders(log.provider ?? "", log));
    return reply;
  } catch (error) {
    return answerSoftly(error, value, parts);
  }
}

/** A request of a unified operation. */
export interface UnifiedBody<Name extends OperationName> {
  value: Operations[Name]["request"];
  /** The body's text as it was sent, where it was JSON. */
  text?: string;
  /** The request's form, if it is one. */
  form?: SentForm | undefined;
  /** What it must match once its config completed it. Absent: it is complete. */
  schema?: JsonBody<unknown>["schema"];
  /** Saved prompts that targets name, for requests of the same operation. Absent: none does. */
  prompts?: TargetPrompts | undefined;
}

/**
 * Runs one unified operation: finds its targets, calls them, responds in the shape of the route.
 *
 * @param store Stores a response that may be read again. Default: it is not stored.
 */
export function runInference<Name extends OperationName>(
  name: Name,
  body: UnifiedBody<Name>,
  context: CallerContext,
  store?: StoreResponse,
): Promise<Reply> {
  const { value, form, schema, prompts } = body;
  // it is not read again: release it
  if (body.text !== undefined) body.text = "";
  const streamed = isStreamed(name, value);
  const parts = { context, canRepeat: !isStreamedForm(form), streamed, operation: name, schema, store, prompts };
  const running = runTargets(
    value,
    (request, target) => callTarget(name, request, { ...target, form }, context),
    parts,
  );
  if (!streamed) return running;
  return running.then((reply) =>
    reply.body instanceof ReadableStream ? reply : toStreamed(name, reply, value, context),
  );
}
