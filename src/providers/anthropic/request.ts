import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ConversionOptions } from "../core/types.ts";
import { isKnownMember, passUnknown } from "../shared/known.ts";
import { type ClaudeFamily, familyOf } from "./family.ts";
import { hasUnthoughtCall, toSystem, toTurns } from "./messages.ts";
import { refuse } from "./parts.ts";
import { toAnswerSchema } from "./schema.ts";
import { isThinking, readMaxTokens, type ThinkingMembers, toThinking } from "./thinking.ts";
import { demandsTool, toToolMembers } from "./tools.ts";

/** What differs between hosts of Claude models. */
export interface ClaudeHost {
  /** `anthropic_version` in the body, where a host wants it there; the request's own wins. */
  version?: string;
  /** Whether betas, also those of the client's header, are told in the body's `anthropic_beta` instead of a header. */
  hasBetasInBody?: boolean;
  /** Betas a host knows, under the names they have there; others are noted as left out. Default: all, as they are. */
  betas?: ReadonlyMap<string, string>;
  /** Members a host does not take in the body; but for `model` and `stream`, which its path tells, they are noted as left out. */
  omits?: readonly string[];
}

type Members = Record<string, unknown>;

/** Members that are mapped, or that the gateway itself answers to. */
const mappedMembers = new Set([
  "model",
  "messages",
  "stream",
  "stream_options",
  "max_tokens",
  "max_completion_tokens",
  "temperature",
  "top_p",
  "top_k",
  "stop",
  "stop_sequences",
  "n",
  "user",
  "safety_identifier",
  "metadata",
  "tools",
  "functions",
  "tool_choice",
  "parallel_tool_calls",
  "response_format",
  "reasoning_effort",
  "thinking",
  "service_tier",
  "output_config",
  "speed",
  "anthropic_beta",
  "anthropic_version",
]);

/** A number within 0 and 1, or undefined. */
function clampedUnit(value: number | null | undefined): number | undefined {
  return value === undefined || value === null ? undefined : Math.min(Math.max(value, 0), 1);
}

/** Sampling; a model that thinks chooses for itself, and newer ones take one of two samplers. */
function toSampling(request: ChatRequest, family: ClaudeFamily, thinks: boolean, { drop }: ConversionOptions): Members {
  const temperature = clampedUnit(request.temperature);
  const { top_p, top_k } = request;
  const members: Members = {};
  const put = (name: string, value: unknown, isTaken: boolean) => {
    if (value === undefined || value === null) return;
    if (isTaken) members[name] = value;
    else if (name !== "temperature" || value !== 1) drop(name);
  };
  put("temperature", temperature, !thinks);
  const hasTemperature = members.temperature !== undefined;
  put("top_p", top_p, !(hasTemperature && family.takesOneSampler) && (!thinks || Number(top_p) >= 0.95));
  put("top_k", top_k, !thinks);
  return members;
}

/** Texts that end an answer; blank ones are refused upstream. */
function toStopSequences(request: ChatRequest, { drop }: ConversionOptions): Members {
  const given = request.stop ?? request.stop_sequences;
  const all: unknown[] = typeof given === "string" ? [given] : Array.isArray(given) ? given : [];
  const kept = all.filter((one) => typeof one === "string" && one.trim() !== "");
  if (kept.length < all.length) drop("stop");
  return kept.length === 0 ? {} : { stop_sequences: kept };
}

function toMetadata(request: ChatRequest, { drop }: ConversionOptions): Members {
  const { metadata, user, safety_identifier: safety } = request;
  const own = isObject(metadata) ? metadata.user_id : undefined;
  const others = isObject(metadata) ? Object.keys(metadata).filter((name) => name !== "user_id") : [];
  if (others.length > 0) drop("metadata");
  const id = [own, user, safety].find((one) => typeof one === "string" && one !== "");
  if (typeof safety === "string" && safety !== id) drop("safety_identifier");
  return id === undefined ? {} : { metadata: { user_id: id } };
}

/** Tiers of the provider and of OpenAI (https://docs.claude.com/en/api/service-tiers). */
const tiers: Readonly<Record<string, Members>> = {
  auto: { service_tier: "auto" },
  standard_only: { service_tier: "standard_only" },
  default: { service_tier: "standard_only" },
  fast: { speed: "fast" },
};

function toTier({ service_tier: tier, speed }: ChatRequest, { drop }: ConversionOptions): Members {
  const own = typeof speed === "string" ? { speed } : {};
  if (tier === undefined || tier === null) return own;
  const known = Object.hasOwn(tiers, String(tier)) ? tiers[String(tier)] : undefined;
  if (!known) drop("service_tier");
  return { ...known, ...own };
}

/** The schema an answer must have, in the provider's form; undefined when there is none. */
function toFormat({ response_format: format }: ChatRequest, { drop }: ConversionOptions): Members | undefined {
  if (!isObject(format) || format.type === "text") return undefined;
  if (format.type !== "json_schema") {
    drop("response_format");
    return undefined;
  }
  const holder = isObject(format.json_schema) ? format.json_schema : format;
  if (!isObject(holder.schema)) return refuse("Cannot read response_format: its schema is missing", "response_format");
  return {
    type: "json_schema",
    schema: toAnswerSchema(holder.schema, (keyword) => drop(`response_format.json_schema.schema.${keyword}`)),
  };
}

/** Form and effort of the answer. */
function toOutput(
  request: ChatRequest,
  family: ClaudeFamily,
  { effort }: ThinkingMembers,
  options: ConversionOptions,
): Members {
  const format = toFormat(request, options);
  const own = isObject(request.output_config) ? request.output_config : {};
  const config = {
    ...(effort !== undefined && { effort }),
    ...(family.hasOutputConfig && format && { format }),
    ...own,
  };
  return {
    ...(Object.keys(config).length > 0 && { output_config: config }),
    ...(!family.hasOutputConfig && format && { output_format: format }),
  };
}

/** Members the gateway knows because Claude has them: they go as they are. */
const ownMembers = ["cache_control", "context_management"] as const;

/** Members that belong to the provider. */
function passedMembers(request: ChatRequest, { drop }: ConversionOptions): Members {
  const own = Object.fromEntries(
    ownMembers.flatMap((name) => (isObject(request[name]) ? [[name, request[name]]] : [])),
  );
  const isSwitchedOff = (name: string) => isKnownMember(name) && request[name] === false;
  const takes = (name: string) => mappedMembers.has(name) || Object.hasOwn(own, name) || isSwitchedOff(name);
  return { ...passUnknown(request, takes, { drop }), ...own };
}

/** Longest answer to ask for: the provider wants it named. What is thought counts, so it comes on top of the default. */
function toMaxTokens(request: ChatRequest, family: ClaudeFamily, { thinking }: ThinkingMembers): number {
  const budget = Number(thinking?.budget_tokens ?? 0);
  return readMaxTokens(request) ?? family.defaultMaxTokens + (Number.isSafeInteger(budget) ? budget : 0);
}

/** Betas told in the body: the request's own, and those of the client's header. */
export function bodyBetas(
  ofBody: readonly string[],
  host: ClaudeHost,
  { clientHeader, drop }: ConversionOptions,
): string[] {
  if (!host.hasBetasInBody) return [];
  const taken = (asked: readonly string[], member: string): string[] => {
    const known = asked.flatMap((beta) => (host.betas ? (host.betas.get(beta) ?? []) : beta));
    if (known.length < asked.length) drop(member);
    return known;
  };
  const ofClient = readBetas(clientHeader?.("anthropic-beta"));
  return [...new Set([...taken(ofBody, "anthropic_beta"), ...taken(ofClient, "anthropic-beta")])];
}

function hostMembers(request: ChatRequest, host: ClaudeHost, options: ConversionOptions): Members {
  const version = host.version === undefined ? undefined : (request.anthropic_version ?? host.version);
  const betas = bodyBetas(betasOf(request), host, options);
  return {
    model: request.model,
    ...(request.stream === true && { stream: true }),
    ...(version !== undefined && { anthropic_version: version }),
    ...(betas.length > 0 && { anthropic_beta: betas }),
  };
}

/**
 * A chat request as Claude takes it (https://docs.claude.com/en/api/messages).
 *
 * @throws {InvalidRequestError} If the answer would not be what was asked.
 */
export function toClaudeRequest(request: ChatRequest, options: ConversionOptions, host: ClaudeHost = {}): Members {
  if (typeof request.n === "number" && request.n > 1) refuse("Cannot answer n times: the provider answers once", "n");
  const family = familyOf(request.model);
  const system = toSystem(request.messages, options);
  const messages = toTurns(request.messages, options);
  const tools = toToolMembers(request, options);
  const mustCall = demandsTool(tools);
  const thinking = toThinking(request, family, { ...options, mustCall, hasUnthoughtCall: hasUnthoughtCall(messages) });
  const members: Members = {
    ...passedMembers(request, options),
    ...hostMembers(request, host, options),
    ...(system.length > 0 && { system }),
    messages,
    max_tokens: toMaxTokens(request, family, thinking),
    ...tools,
    ...toSampling(request, family, isThinking(thinking), options),
    ...toStopSequences(request, options),
    ...toMetadata(request, options),
    ...(thinking.thinking && { thinking: thinking.thinking }),
    ...toOutput(request, family, thinking, options),
    ...toTier(request, options),
  };
  return host.omits ? leaveOut(members, host.omits, options) : members;
}

/** Members without those a host does not take; but for what its path tells, they are noted as left out. */
export function leaveOut(members: Members, names: readonly string[], { drop }: ConversionOptions): Members {
  for (const name of names) {
    if (members[name] !== undefined && name !== "model" && name !== "stream") drop(name);
  }
  return Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));
}

/** Names in a list of betas: a text with commas, or a list. */
export function readBetas(value: unknown): string[] {
  const all: unknown[] = typeof value === "string" ? value.split(",") : Array.isArray(value) ? value : [];
  return all.filter((one) => typeof one === "string").flatMap((one) => one.trim() || []);
}

/** Whether a part of a message names a file kept by the provider. */
function namesFile({ content }: ChatRequest["messages"][number]): boolean {
  if (!Array.isArray(content)) return false;
  return content.some((part: unknown) => isObject(part) && isObject(part.file) && part.file.file_id !== undefined);
}

/** Betas of a request: those it names, and those that what it asks for needs (https://docs.claude.com/en/api/beta-headers). */
export function betasOf(request: Partial<ChatRequest>): string[] {
  const { model = "", messages = [], response_format: format } = request;
  const hasSchema = isObject(format) && format.type === "json_schema";
  const betas = [
    ...readBetas(request.anthropic_beta),
    ...(messages.some(namesFile) ? ["files-api-2025-04-14"] : []),
    ...(hasSchema && !familyOf(model).hasOutputConfig ? ["structured-outputs-2025-11-13"] : []),
    ...(request.service_tier === "fast" ? ["fast-mode-2026-02-01"] : []),
  ];
  return [...new Set(betas)];
}
