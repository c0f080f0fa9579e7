import * as v from "valibot";
import { type KeyAccess, requireAccess } from "../../auth/access.ts";
import type { CallerContext } from "../../context.ts";
import { InvalidRequestError } from "../../errors.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import { ModelFacts } from "../../schemas/model-facts.ts";
import { runInference } from "../pipeline/run.ts";
import { readRequestConfig } from "../target/config-source.ts";
import { isFromRequest, listLeaves, storedNameOf } from "../target/config-target.ts";
import { mayUseModel } from "../target/key-models.ts";
import type { RequestConfig } from "../target/saved-config.ts";
import { readView } from "../target/stored-provider.ts";
import { namesProvider } from "../target/target.ts";
import { describeEntry } from "./alias-model.ts";
import { listCatalogue, selectModels } from "./catalogue.ts";
import { type ListedModel, toListedFields } from "./listed-model.ts";

/** Calling a provider is inference; reading the workspace's models is not. */
const inferenceAccess: KeyAccess = { keys: "workspace", scopes: ["completions.write"] };

/** Stored providers a config names; all where it takes one from the request. */
function createFilter({ node, view }: RequestConfig): (slug: string) => boolean {
  const leaves = listLeaves(node);
  if (leaves.some(isFromRequest)) return () => true;
  const named = leaves.map((leaf) => view.providers.get(storedNameOf(leaf)?.slug ?? "")?.row.slug);
  const slugs = new Set(named);
  return (slug) => slugs.has(slug);
}

/** The models of the workspace that a request may see, and asks for in the query of `url`. */
async function readCatalogue(
  config: RequestConfig | undefined,
  context: CallerContext,
  { url }: Pick<CallerContext, "url">,
) {
  const view = await readView(context);
  const isListed = config ? createFilter(config) : () => true;
  const models = listCatalogue(view, context).filter(
    ({ alias_of, provider }) => alias_of !== undefined || (provider !== null && isListed(provider)),
  );
  return selectModels(models, { url }).map((model) => ({
    model,
    listed: describeEntry(model, view, context.services),
  }));
}

/** The config of a request for the catalogue; null: the request asks a provider for its own list. */
async function readListConfig(context: CallerContext): Promise<RequestConfig | undefined | null> {
  const config = await readRequestConfig(context);
  if (context.header("fetch-integrated-models") === "true" || config.node.fetchIntegratedModels) return config;
  return namesProvider(context) ? null : undefined;
}

/** The list of the provider that a request names, as far as its key may use the models. */
async function askProvider(context: CallerContext): Promise<Reply> {
  requireAccess(context.principal, inferenceAccess);
  const reply = await runInference("models", { value: {}, text: "" }, context);
  if (!context.principal.allowedModels) return reply;
  const list = typeof reply.body === "string" ? parseJson(reply.body) : undefined;
  if (!isObject(list) || !Array.isArray(list.data)) return reply;
  const data = list.data.filter((model) => isObject(model) && mayUseModel(String(model.id), context));
  return withBody(reply, { ...list, data });
}

/** `GET /models`: the list of the provider the request names; without one, the models this workspace may call. */
export async function listModels(context: CallerContext): Promise<Reply> {
  const config = await readListConfig(context);
  if (config === null) return askProvider(context);
  const models = await readCatalogue(config, context, context);
  return jsonReply({
    object: "list",
    data: models.map(({ model, listed }) => ({ ...model, ...toListedFields(listed) })),
  });
}

/** The models of the workspace, or those of the config where the request has one. */
export async function listOwnModels(context: CallerContext): Promise<ListedModel[]> {
  const config = namesProvider(context) ? await readRequestConfig(context) : undefined;
  return (await readCatalogue(config, context, context)).map(({ listed }) => listed);
}

/** A member that counts only where it has this form. */
const where = <Schema extends v.GenericSchema>(schema: Schema) => v.fallback(v.optional(schema), undefined);

const limit = ModelFacts.entries.contextWindow.wrapped;

/** Members of models in a provider's list that the other dialects show. */
const ProviderModel = v.looseObject({
  id: v.string(),
  name: where(v.string()),
  display_name: where(v.string()),
  slug: where(v.string()),
  created: where(v.number()),
  owned_by: where(v.string()),
  type: where(v.string()),
  // windows and limits by the names of OpenRouter, Groq, Mistral and vLLM
  context_length: where(limit),
  context_window: where(limit),
  max_context_length: where(limit),
  max_model_len: where(limit),
  max_completion_tokens: where(limit),
  top_provider: where(v.looseObject({ max_completion_tokens: where(limit) })),
  architecture: where(
    v.looseObject({
      input_modalities: where(ModelFacts.entries.inputs.wrapped),
      output_modalities: where(ModelFacts.entries.outputs.wrapped),
    }),
  ),
  supported_parameters: where(v.array(v.string())),
  shutdown_date: where(ModelFacts.entries.retiredOn.wrapped),
});

function defined<Value>(name: keyof ModelFacts, value: Value | undefined): Record<string, Value> {
  return value === undefined ? {} : { [name]: value };
}

/** A model of a provider's list. */
function readProviderModel(model: Record<string, unknown>): ListedModel[] {
  const { success, output } = v.safeParse(ProviderModel, model);
  if (!success) return [];
  const { id, architecture, supported_parameters: fields } = output;
  const facts: ModelFacts = {
    ...defined(
      "contextWindow",
      output.context_length ?? output.context_window ?? output.max_context_length ?? output.max_model_len,
    ),
    ...defined("maxOutputTokens", output.top_provider?.max_completion_tokens ?? output.max_completion_tokens),
    ...defined("inputs", architecture?.input_modalities),
    ...defined("outputs", architecture?.output_modalities),
    ...defined("takesTools", fields?.includes("tools")),
    ...defined("reasons", fields?.includes("reasoning")),
    ...defined("retiredOn", output.shutdown_date),
  };
  const name = output.display_name ?? output.name ?? output.slug ?? id;
  const isMessages = output.type === "model";
  return [
    {
      id,
      name,
      created: output.created ?? 0,
      service: output.owned_by ?? "",
      facts,
      ...(isMessages && { asMessages: model }),
    },
  ];
}

/** Models for another dialect, and the response that they come from. */
interface Listing {
  models: ListedModel[];
  reply: Reply;
}

/**
 * All models `GET /v1/models` would list for the caller.
 *
 * @param given The URL whose query counts, where the dialect pages otherwise.
 */
export async function readListing(
  context: CallerContext,
  given: Pick<CallerContext, "url"> = context,
): Promise<Listing> {
  const config = await readListConfig(context);
  if (config !== null) {
    const models = (await readCatalogue(config, context, given)).map(({ listed }) => listed);
    return { models, reply: jsonReply({}) };
  }
  const reply = await askProvider(context);
  const list = typeof reply.body === "string" ? parseJson(reply.body) : undefined;
  const data: unknown[] = isObject(list) && Array.isArray(list.data) ? list.data : [];
  return { models: data.filter(isObject).flatMap(readProviderModel), reply };
}

/** The response of a list with another body. */
export function withBody({ status, headers }: Reply, value: unknown): Reply {
  const made = jsonReply(value, status);
  return { ...made, headers: { ...headers, ...made.headers } };
}

/** A number of the query. @throws {InvalidRequestError} 400 if it is not a number. */
export function readCount(query: URLSearchParams, name: string, fallback: number): number {
  const text = query.get(name);
  if (text === null || text === "") return fallback;
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  throw new InvalidRequestError(`Cannot use ${name}: it must be a whole number`, {
    param: name,
    code: "invalid_query",
  });
}
