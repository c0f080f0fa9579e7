import type { CallerContext, Services } from "../../context.ts";
import type { StoredProvider } from "../../control/provider-library.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { readStoredName } from "../../control/stored-name.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import type { ConfigNode } from "../../routing/config.ts";
import { applyParamOverrides } from "../../routing/param-overrides.ts";
import type { ModelFacts } from "../../schemas/model-facts.ts";
import { type ModelNeed, modelNeeds } from "../../schemas/routing-choice.ts";
import { estimateInput } from "../call/estimate-usage.ts";
import { modelOf } from "../facts/operation-facts.ts";
import { listLeaves, storedNameOf } from "../target/config-target.ts";
import { withTargetModel } from "../target/named-config.ts";
import type { RequestConfig } from "../target/saved-config.ts";
import { type RequestTraits, readTraits } from "./request-traits.ts";

type Members = Readonly<Record<string, unknown>>;

/** Leaves whose models lack what a request needs, with the reason. */
export type UnfitLeaves = ReadonlyMap<ConfigNode, string>;

/** Operations whose requests say what they need of a model. */
export const chatOperations: ReadonlySet<OperationName> = new Set([
  "chat",
  "complete",
  "messages",
  "responses",
  "generateContent",
]);

/** Leaves of groups in which another target may be called instead, by config. */
const choices = new WeakMap<ConfigNode, readonly ConfigNode[]>();

function hasChoice({ strategy, targets }: ConfigNode): boolean {
  if (!strategy) return false;
  const isChoice = strategy.mode !== "conditional" && strategy.mode !== "single" && targets.length > 1;
  return isChoice || targets.some(hasChoice);
}

/** Leaves of a config for which another may be called instead; empty without any. */
export function choiceLeaves(node: ConfigNode): readonly ConfigNode[] {
  const known = choices.get(node);
  if (known) return known;
  const leaves = hasChoice(node) ? listLeaves(node) : [];
  choices.set(node, leaves);
  return leaves;
}

/** Most models of one target whose facts are remembered. */
const maxModels = 100;
const knownFacts = new WeakMap<WorkspaceView, WeakMap<ConfigNode, BoundedMap<string, ModelFacts>>>();

/** Whether a target may be at another host than its provider's, where images are sent as they are. */
function mayHaveOtherHost({ merged }: ConfigNode, stored: StoredProvider | undefined, model: string): boolean {
  if (!stored) return merged.customHost !== undefined;
  const { integration, models, secrets } = stored;
  const named = [JSON.stringify([integration, models.get(model)]), ...secrets.map(({ field }) => field)];
  return named.some((text) => text.includes("custom_host"));
}

/** What is known of the model of a leaf by its name, from the operator, and from its integration, the last first. */
function readFacts(leaf: ConfigNode, model: string, view: WorkspaceView, services: FactServices): ModelFacts {
  const stored = storedNameOf(leaf);
  const provider = stored && view.providers.get(stored.slug);
  const slug = provider?.integration.aiProviderId ?? leaf.provider ?? "";
  const entry = provider?.models.get(model);
  const name = entry?.baseModelSlug ?? model;
  const kind = services.providers.get(slug);
  const { images } = mayHaveOtherHost(leaf, provider, model) ? {} : (kind?.describe(name, true) ?? {});
  return {
    ...kind?.describe(name),
    ...(images === "none" && { images }),
    ...services.providerRules.operatorFacts?.(slug, model),
    ...entry?.modelFacts,
  };
}

type FactServices = Pick<Services, "providers" | "providerRules">;

/** As `readFacts`, remembered as long as the view lasts. */
function factsOf(leaf: ConfigNode, model: string, view: WorkspaceView, services: FactServices): ModelFacts {
  const ofView = knownFacts.get(view) ?? new WeakMap<ConfigNode, BoundedMap<string, ModelFacts>>();
  const ofLeaf = ofView.get(leaf) ?? new BoundedMap<string, ModelFacts>(maxModels);
  const facts = ofLeaf.get(model) ?? readFacts(leaf, model, view, services);
  ofLeaf.set(model, facts);
  ofView.set(leaf, ofLeaf);
  knownFacts.set(view, ofView);
  return facts;
}

/** Most tokens of a prompt that a model is known to take. */
function windowOf({ maxInputTokens, contextWindow }: ModelFacts): number | undefined {
  if (maxInputTokens === undefined || contextWindow === undefined) return maxInputTokens ?? contextWindow;
  return Math.min(maxInputTokens, contextWindow);
}

/** What a model lacks of each need but room, as readable text; undefined where it lacks nothing or that is not known. */
const lackOf: Readonly<
  Record<Exclude<ModelNeed, "context">, (facts: ModelFacts, traits: RequestTraits) => string | undefined>
> = {
  tools: ({ takesTools }, { tools }) => (tools && takesTools === false ? "its model takes no tools" : undefined),
  images({ images, inputs }, traits) {
    // where the facts say so, the model reads a note in place of other images
    const lacks = images === "none" ? traits.asksAboutImage : traits.images && inputs?.includes("image") === false;
    return lacks ? "its model takes no images" : undefined;
  },
  json_schema: ({ responseSchemas }, { schema }) =>
    schema && responseSchemas === "none" ? "its model takes no JSON schemas" : undefined,
};

/** Whether a request has more characters than a third of a bound: a token has at least one byte, a character up to three. */
function exceedsThird(value: unknown, bound: number): boolean {
  let left = bound / 3;
  const walk = (inner: unknown): boolean => {
    if (typeof inner === "string") {
      left -= inner.length;
    } else if (typeof inner === "object" && inner !== null) {
      for (const one of Object.values(inner)) if (walk(one)) return true;
    }
    return left < 0;
  };
  return walk(value);
}

/** A leaf with what it would be sent and what its model takes. */
interface Candidate {
  leaf: ConfigNode;
  request: Members;
  facts: ModelFacts;
  needs: readonly ModelNeed[];
}

/** The model that a leaf asks for, without the name of its stored provider; empty without one. */
export function modelOfLeaf(leaf: ConfigNode, request: { model?: unknown }): string {
  const { overrideParams, defaultParams } = leaf.merged;
  const model = modelOf({ model: overrideParams.model ?? request.model ?? defaultParams.model }) ?? "";
  return readStoredName(model)?.model ?? (model === "" ? (storedNameOf(leaf)?.model ?? "") : model);
}

/** The request as a leaf would be sent it: the same object where the leaf changes nothing but the model. */
function sentTo({ merged }: ConfigNode, request: Members): Members {
  const { overrideParams, defaultParams, dropParams } = merged;
  const changes = [...Object.keys(overrideParams), ...Object.keys(defaultParams)].some((name) => name !== "model");
  const isSame = !changes && dropParams.length === 0;
  return isSame ? request : applyParamOverrides(request, merged);
}

/** What each leaf lacks but room. */
function findLacks(candidates: readonly Candidate[]): Map<ConfigNode, string> {
  const known = new Map<Members, RequestTraits>();
  const found = new Map<ConfigNode, string>();
  for (const { leaf, request, facts, needs } of candidates) {
    const traits = known.get(request) ?? readTraits(request);
    known.set(request, traits);
    const lack = needs.map((need) => (need === "context" ? undefined : lackOf[need](facts, traits))).find(Boolean);
    if (lack !== undefined) found.set(leaf, lack);
  }
  return found;
}

/** Adds leaves whose windows are too small. Tokens are counted only where one could be. */
async function addSmall(
  candidates: readonly (Candidate & { window: number })[],
  found: Map<ConfigNode, string>,
  { services }: CallerContext,
): Promise<Map<ConfigNode, string>> {
  const counts = new Map<Members, number>();
  for (const { leaf, request, window } of candidates) {
    const tokens = counts.get(request) ?? (await estimateInput(request, services.countTokens));
    counts.set(request, tokens);
    if (tokens > window) found.set(leaf, `its window of ${window} tokens is too small for about ${tokens}`);
  }
  return found;
}

/**
 * The leaves of a config whose models are known to lack what a request needs, among those for which another could be called.
 * Undefined where nothing is lacking, at once for nearly every request: tokens are counted only for a prompt that could fill a
 * window.
 */
export function findUnfit(
  config: RequestConfig,
  { operation, value }: { operation: OperationName; value: Members },
  context: CallerContext,
): UnfitLeaves | undefined | Promise<UnfitLeaves | undefined> {
  // the prompts of targets are sent in place of the request
  const isPrompt = context.log.prompt !== null;
  const leaves = choiceLeaves(config.node).filter(({ promptId }) => !isPrompt || promptId === undefined);
  if (leaves.length === 0 || !chatOperations.has(operation)) return undefined;
  const given = withTargetModel(value, config);
  const candidates = leaves.map((leaf): Candidate => {
    const facts = factsOf(leaf, modelOfLeaf(leaf, given), config.view, context.services);
    return { leaf, request: sentTo(leaf, given), facts, needs: leaf.merged.requires ?? modelNeeds };
  });
  const found = findLacks(candidates);
  const tight = candidates.flatMap((candidate) => {
    const window = candidate.needs.includes("context") ? windowOf(candidate.facts) : undefined;
    const isTight = window !== undefined && !found.has(candidate.leaf) && exceedsThird(candidate.request, window);
    return isTight ? [{ ...candidate, window }] : [];
  });
  const known = (lacks: Map<ConfigNode, string>) => (lacks.size > 0 ? lacks : undefined);
  return tight.length === 0 ? known(found) : addSmall(tight, found, context).then(known);
}
