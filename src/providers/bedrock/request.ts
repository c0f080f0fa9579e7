import { finiteNumber, isObject, nonEmptyString } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { toAnswerSchema } from "../anthropic/schema.ts";
import type { ConversionOptions } from "../core/types.ts";
import { isKnownMember } from "../shared/known.ts";
import { isGiven } from "../shared/messages.ts";
import { betaFields } from "./betas.ts";
import { addCachePoints } from "./cache-marks.ts";
import {
  cachePoints,
  hasCallWithoutThinking,
  holdsToolBlocks,
  settleCachePoints,
  toSystem,
  toTurns,
} from "./messages.ts";
import { type BedrockModel, claudeFamily } from "./model.ts";
import { type Block, refuseValue } from "./parts.ts";
import { isHighest, reasoningFields } from "./reasoning.ts";
import { toTools } from "./tools.ts";

/** Fields that are converted, or that control how the response is sent. */
const converted = new Set([
  "model",
  "messages",
  "stream",
  "stream_options",
  "tools",
  "tool_choice",
  "functions",
  "function_call",
  "max_tokens",
  "max_completion_tokens",
  "temperature",
  "top_p",
  "top_k",
  "stop",
  "n",
  "user",
  "metadata",
  "thinking",
  "reasoning_effort",
  "anthropic_beta",
  "response_format",
  "service_tier",
  "cache_control",
  "frequency_penalty",
  "presence_penalty",
  "guardrailConfig",
  "guardrail_config",
  "performance_config",
  "performanceConfig",
  "additionalModelRequestFields",
  "additional_model_request_fields",
  "requestMetadata",
  "additionalModelResponseFieldPaths",
  "additional_model_response_field_paths",
  "promptVariables",
]);
/** A request and the parameters of its conversion. */
interface Conversion {
  request: ChatRequest;
  model: BedrockModel;
  options: ConversionOptions;
}

function maxTokensOf({ max_tokens, max_completion_tokens }: ChatRequest): number | undefined {
  return finiteNumber(max_completion_tokens) ?? finiteNumber(max_tokens);
}

/** Whether a request's additional fields turn Claude's thinking on. */
function isThinking({ thinking }: Block): boolean {
  return isObject(thinking) && thinking.type !== "disabled";
}

/** Stop sequences; Claude rejects blank ones. */
function toStops({ request: { stop }, model, options }: Conversion): string[] {
  const given = (Array.isArray(stop) ? stop : [stop]).filter((one) => nonEmptyString(one) !== undefined) as string[]; // strings
  const taken = model.vendor === "anthropic" ? given.filter((one) => one.trim() !== "") : given;
  if (taken.length < given.length) options.drop("stop");
  return taken;
}

/** Sampling parameters, without those the model rejects together. */
function toInference({ request, model, options }: Conversion, fields: Block): Block | undefined {
  const stops = toStops({ request, model, options });
  const temperature = finiteNumber(request.temperature);
  const topP = finiteNumber(request.top_p);
  const maxTokens = maxTokensOf(request);
  const omitted = new Set<string>();
  if (isThinking(fields) || isHighest(fields)) {
    for (const name of ["temperature", "top_p"]) if (isGiven(request[name])) omitted.add(name);
  } else if (claudeFamily(model, options)?.takesOneSampler && temperature !== undefined && topP !== undefined) {
    omitted.add("top_p");
  }
  const isUnlimited = isHighest(fields) && maxTokens !== undefined;
  if (isUnlimited) omitted.add(isGiven(request.max_completion_tokens) ? "max_completion_tokens" : "max_tokens");
  for (const name of omitted) options.drop(name);
  const inference = {
    ...(maxTokens !== undefined && !isUnlimited && { maxTokens }),
    ...(temperature !== undefined &&
      !omitted.has("temperature") && { temperature: Math.min(Math.max(temperature, 0), 1) }),
    ...(topP !== undefined && !omitted.has("top_p") && { topP }),
    ...(stops.length > 0 && { stopSequences: stops }),
  };
  return Object.keys(inference).length > 0 ? inference : undefined;
}

/** Sampling parameters that only some vendors' models have. */
function samplingFields({ request, model, options }: Conversion, thinks: boolean): Block {
  const fields: Block = {};
  for (const name of ["frequency_penalty", "presence_penalty"]) {
    if (!isGiven(request[name])) continue;
    if (["cohere", "ai21"].includes(model.vendor)) fields[name] = request[name];
    else options.drop(name);
  }
  const topK = request.top_k;
  if (!isGiven(topK)) return fields;
  if (thinks) options.drop("top_k");
  else if (model.vendor === "cohere") fields.k = topK;
  else if (model.vendor === "amazon") fields.inferenceConfig = { topK };
  else fields.top_k = topK;
  return fields;
}

function userFields({ request, model, options }: Conversion): Block {
  const user = nonEmptyString(request.user);
  if (user === undefined) return {};
  if (model.vendor === "anthropic") return { metadata: { user_id: user } };
  options.drop("user");
  return {};
}

/** Unknown fields are forwarded to the model. */
function unknownFields({ request, options }: Conversion): Block {
  const entries = Object.entries(request).filter(([name, value]) => {
    if (converted.has(name) || !isGiven(value)) return false;
    if (!isKnownMember(name)) return true;
    // models call tools in parallel by default
    if (name !== "parallel_tool_calls" || value === false) options.drop(name);
    return false;
  });
  return Object.fromEntries(entries);
}

function toAdditional(conversion: Conversion, reasoning: Block, native: readonly Block[]): Block | undefined {
  const { request } = conversion;
  const given = request.additionalModelRequestFields ?? request.additional_model_request_fields;
  const fields: Block = {
    ...unknownFields(conversion),
    ...samplingFields(conversion, isThinking(reasoning)),
    ...userFields(conversion),
    ...betaFields(conversion.request, conversion.model, conversion.options),
    ...reasoning,
    ...(native.length > 0 && { tools: native }),
    ...(isObject(given) ? given : {}),
  };
  return Object.keys(fields).length > 0 ? fields : undefined;
}

/** The response format; the schema is sent as JSON text. */
function toOutputConfig({ request, options }: Conversion): Block | undefined {
  const format = request.response_format;
  if (!isObject(format) || format.type === "text") return undefined;
  const { schema, name, description } = isObject(format.json_schema) ? format.json_schema : {};
  if (format.type !== "json_schema") {
    options.drop("response_format");
    return undefined;
  }
  if (!isObject(schema)) refuseValue("Cannot read response_format: json_schema.schema is missing", "response_format");
  // all models take the same subset (https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html)
  const taken = toAnswerSchema(schema, (keyword) => options.drop(`response_format.json_schema.schema.${keyword}`));
  const jsonSchema = {
    schema: JSON.stringify(taken),
    ...(nonEmptyString(name) !== undefined && { name }),
    ...(nonEmptyString(description) !== undefined && { description }),
  };
  return { textFormat: { type: "json_schema", structure: { jsonSchema } } };
}

function toServiceTier({ request, options }: Conversion): Block | undefined {
  const tier = request.service_tier;
  if (!isGiven(tier) || tier === "auto") return undefined;
  if (["priority", "default", "flex", "reserved"].includes(String(tier))) return { type: tier };
  options.drop("service_tier");
  return undefined;
}

/** Metadata of a request, which appears in the invocation log of AWS. */
function toMetadata({ request }: Conversion): Block | undefined {
  const given = { ...objectOf(request.metadata), ...objectOf(request.requestMetadata) };
  const strings = Object.entries(given).filter(([, value]) => typeof value === "string");
  return strings.length > 0 ? Object.fromEntries(strings) : undefined;
}

function objectOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

function withoutAbsent(members: Block): Block {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => isGiven(value)));
}

/** Whether the model must call a tool. */
function demandsTool(toolConfig: Block | undefined): boolean {
  const choice = toolConfig?.toolChoice;
  return isObject(choice) && !("auto" in choice);
}

/**
 * A request to Converse (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html).
 *
 * @throws {InvalidRequestError} If the request cannot be mapped faithfully.
 */
export function toConverse(request: ChatRequest, model: BedrockModel, options: ConversionOptions): Block {
  const conversion = { request, model, options };
  if (typeof request.n === "number" && request.n > 1)
    refuseValue("Cannot use n above 1: the provider returns one choice", "n");
  const { toolConfig, native } = toTools(request, { model, options });
  const flattens = toolConfig === undefined && native.length === 0 && holdsToolBlocks(request.messages);
  const rules = { model, options, flattens };
  const messages = toTurns(request.messages, rules);
  messages.at(-1)?.content.push(...cachePoints(request, rules));
  settleCachePoints(messages, rules);
  const system = toSystem(request.messages, rules);
  addCachePoints({ messages, system, toolConfig }, rules);
  const reasoning = reasoningFields(request, {
    model,
    options,
    mustCall: demandsTool(toolConfig),
    hasCallWithoutThinking: hasCallWithoutThinking(messages),
  });
  const fields = toAdditional(conversion, reasoning, native);
  return withoutAbsent({
    messages,
    system: system.length > 0 ? system : undefined,
    inferenceConfig: toInference(conversion, fields ?? {}),
    toolConfig,
    guardrailConfig: request.guardrailConfig ?? request.guardrail_config,
    additionalModelRequestFields: fields,
    additionalModelResponseFieldPaths:
      request.additionalModelResponseFieldPaths ?? request.additional_model_response_field_paths,
    performanceConfig: request.performanceConfig ?? request.performance_config,
    promptVariables: request.promptVariables,
    requestMetadata: toMetadata(conversion),
    serviceTier: toServiceTier(conversion),
    outputConfig: toOutputConfig(conversion),
  });
}
