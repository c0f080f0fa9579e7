import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ConversionOptions } from "../core/types.ts";
import { isKnownMember, passUnknown } from "../shared/known.ts";
import { markPrefix } from "./cache-marks.ts";
import { type ClaudeFamily, familyOf } from "./family.ts";
import { countLeading, hasCallWithoutThinking, placeInstructions, toSystem, toTurns } from "./messages.ts";
import { refuse } from "./parts.ts";
import { toAnswerSchema } from "./schema.ts";
import { isThinking, readMaxTokens, type ThinkingMembers, toThinking } from "./thinking.ts";
import { demandsTool, toToolMembers } from "./tools.ts";

type Members = Record<string, unknown>;

/** Differences between hosts of Claude models. */
export interface ClaudeHost {
  /** `anthropic_version` in the body, for hosts that need it there. The request's own value takes precedence. */
  version?: string;
  /**
   * Whether betas, including those of the client's header, go into `anthropic_beta` in the body instead of a header.
   */
  hasBetasInBody?: boolean;
  /** Betas the host supports, mapped to its names; others are dropped and reported. Default: all betas, unchanged. */
  betas?: ReadonlyMap<string, string>;
  /** Betas of a native request for the body, where the host has separate rules for them. */
  readBetas?(request: Members, options: ConversionOptions): readonly string[];
  /**
   * Fields the host rejects in the body. They are reported as dropped, except `model` and `stream`, which the URL
   * contains.
   */
  omits?: readonly string[];
  /** Whether it has turns of the role `system` for its newest models. Default: no. */
  hasSystemTurns?: boolean;
}

/** Fields that are mapped, or that the gateway handles itself. */
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

/** The number, limited to the range 0 to 1; undefined without a number. */
function clampedUnit(value: number | null | undefined): number | undefined {
  return value === undefined || value === null ? undefined : Math.min(Math.max(value, 0), 1);
}

/** Sampling fields. A thinking model accepts none, and newer models accept only one of temperature and top_p. */
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

/** Stop sequences. Anthropic rejects blank ones. */
function toStopSequences(request: ChatRequest, { drop }: ConversionOptions): Members {
  const given = request.stop ?? request.stop_sequences;
  const all: unknown[] = typeof given === "string" ? [given] : Array.isArray(given) ? given : [];
  const sequences = all.filter((one) => typeof one === "string" && one.trim() !== "");
  if (sequences.length < all.length) drop("stop");
  return sequences.length === 0 ? {} : { stop_sequences: sequences };
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

/** Service tiers by OpenAI's and Anthropic's names (https://docs.claude.com/en/api/service-tiers). */
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

/** The response schema in Anthropic's form; undefined when the request has no schema. */
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

/** Format and effort of the response. */
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

/** Claude's own fields, forwarded unchanged. */
const ownMembers = ["cache_control", "context_management"] as const;

/** Fields that are forwarded to the provider. */
function passedMembers(request: ChatRequest, { drop }: ConversionOptions): Members {
  const own: Members = {};
  for (const name of ownMembers) if (isObject(request[name])) own[name] = request[name];
  const isSwitchedOff = (name: string) => isKnownMember(name) && request[name] === false;
  const takes = (name: string) => mappedMembers.has(name) || Object.hasOwn(own, name) || isSwitchedOff(name);
  return { ...passUnknown(request, takes, { drop }), ...own };
}

/** `max_tokens` is required, and thinking counts towards it: a thinking budget is added to the default. */
function toMaxTokens(request: ChatRequest, family: ClaudeFamily, { thinking }: ThinkingMembers): number {
  const budget = Number(thinking?.budget_tokens ?? 0);
  return readMaxTokens(request) ?? family.defaultMaxTokens + (Number.isSafeInteger(budget) ? budget : 0);
}

/** Betas for the body, of a host that has them there: those of the request and those of the client's header. */
export function bodyBetas(
  ofBody: readonly string[],
  host: ClaudeHost,
  { clientHeader, drop }: ConversionOptions,
): string[] {
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
  const betas = host.hasBetasInBody ? bodyBetas(betasOf(request), host, options) : [];
  return {
    model: request.model,
    ...(request.stream === true && { stream: true }),
    ...(version !== undefined && { anthropic_version: version }),
    ...(betas.length > 0 && { anthropic_beta: betas }),
  };
}

/**
 * A chat request in Claude's format (https://docs.claude.com/en/api/messages).
 *
 * @throws {InvalidRequestError} If the request cannot be mapped faithfully.
 */
export function toClaudeRequest(request: ChatRequest, options: ConversionOptions, host: ClaudeHost = {}): Members {
  if (typeof request.n === "number" && request.n > 1)
    refuse("Cannot use n above 1: the provider returns one choice", "n");
  const family = familyOf(request.model, options);
  const leading = countLeading(request.messages);
  const system = toSystem(request.messages.slice(0, leading), options);
  const hasSystemTurns = host.hasSystemTurns === true && family.takesSystemTurns;
  const messages = toTurns(placeInstructions(request.messages.slice(leading), hasSystemTurns), options);
  const tools = toToolMembers(request, options);
  const mustCall = demandsTool(tools);
  const thinking = toThinking(request, family, {
    ...options,
    mustCall,
    hasCallWithoutThinking: hasCallWithoutThinking(messages),
  });
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
  return markPrefix(host.omits ? leaveOut(members, host.omits, options) : members, options);
}

/** Removes the fields a host rejects, and reports all but those the URL contains as dropped. */
export function leaveOut(members: Members, names: readonly string[], { drop }: ConversionOptions): Members {
  for (const name of names) {
    if (members[name] !== undefined && name !== "model" && name !== "stream") drop(name);
  }
  return Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));
}

/** Names in a list of betas: a comma-separated string or an array. */
export function readBetas(value: unknown): string[] {
  if (value === undefined) return [];
  const all: unknown[] = typeof value === "string" ? value.split(",") : Array.isArray(value) ? value : [];
  return all.filter((one) => typeof one === "string").flatMap((one) => one.trim() || []);
}

/** Whether a content part refers to a file stored at the provider. */
function namesFile({ content }: ChatRequest["messages"][number]): boolean {
  if (!Array.isArray(content)) return false;
  return content.some((part: unknown) => isObject(part) && isObject(part.file) && part.file.file_id !== undefined);
}

/** Betas of a request: those it names, and those its features need (https://docs.claude.com/en/api/beta-headers). */
export function betasOf(request: Partial<ChatRequest>): string[] {
  const { model = "", messages = [], response_format: format } = request;
  const betas = new Set(readBetas(request.anthropic_beta));
  if (messages.some(namesFile)) betas.add("files-api-2025-04-14");
  const hasSchema = isObject(format) && format.type === "json_schema";
  if (hasSchema && !familyOf(model).hasOutputConfig) betas.add("structured-outputs-2025-11-13");
  if (request.service_tier === "fast") betas.add("fast-mode-2026-02-01");
  return [...betas];
}
