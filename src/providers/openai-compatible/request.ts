import { InvalidRequestError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { ConversionOptions } from "../core/types.ts";
import { isKnownMember, type RequestKind } from "../shared/known.ts";
import { withStreamUsage } from "../shared/plain.ts";
import { adaptMessages, adaptTools, type MessageRules } from "./messages.ts";

/** Members of a request while it is made fit for a provider: a copy, so that it may be written to. */
export type RequestBody = Record<string, unknown>;

/** How requests of one operation differ from OpenAI's. */
export interface RequestRules extends MessageRules {
  /** Members the provider refuses: they are left out and told. */
  unsupported?: readonly string[];
  /** Members of OpenAI's the provider takes besides the model, the input and `stream`; all others of OpenAI's are left out. */
  only?: readonly string[];
  /** Members with another name there. A value under the provider's own name wins, but not one under an older name of OpenAI's. */
  rename?: Readonly<Record<string, string>>;
  /** Least and greatest values of numbers; what lies outside becomes the nearest one. */
  bounds?: Readonly<Record<string, readonly [number, number]>>;
  /** Values of members that are absent, null or an empty text. */
  defaults?: Readonly<Record<string, unknown>>;
  /** The provider takes `thinking`: whether to think before it answers, and how much. */
  thinking?: boolean;
  /** What no table says; comes last. */
  adapt?(body: RequestBody, options: ConversionOptions): void;
}

/** Turns a request into the one that is sent; leaves its argument unchanged. */
type RequestMap = (request: object, options: ConversionOptions) => RequestBody;

const always = ["model", "messages", "prompt", "input", "stream"];

/** Whether an answer without this member would not be what was asked for. */
function changesAnswer(member: string, value: unknown, body: RequestBody): boolean {
  switch (member) {
    case "tools":
      return Array.isArray(value) && value.length > 0 && body.tool_choice !== "none";
    case "functions":
      return Array.isArray(value) && value.length > 0 && body.function_call !== "none";
    case "tool_choice":
      return value === "required" || isObject(value);
    case "response_format":
      return isObject(value) && value.type === "json_schema";
    case "n":
      return typeof value === "number" && value > 1;
    default:
      return false;
  }
}

function refuse(provider: string, member: string): never {
  const what = member === "n" ? "n above 1" : member;
  throw new InvalidRequestError(`Cannot send ${what} to ${provider}: it does not take it`, {
    param: member,
    code: "unsupported_parameter",
  });
}

function renameMembers(body: RequestBody, names: Readonly<Record<string, string>>, { drop }: ConversionOptions): void {
  for (const [name, there] of Object.entries(names)) {
    const value = body[name];
    if (value === undefined) continue;
    delete body[name];
    if (value === null) continue;
    const other = body[there] ?? undefined;
    // where both names are OpenAI's, the newer one counts
    const isNewer = isKnownMember(there);
    if (other !== undefined && other !== value) drop(isNewer ? there : name);
    if (other === undefined || isNewer) body[there] = value;
  }
}

function applyBounds(body: RequestBody, { bounds }: RequestRules, provider: string): void {
  for (const [member, [least, greatest]] of Object.entries(bounds ?? {})) {
    const value = body[member];
    if (typeof value !== "number") continue;
    if (member === "n" && value > 1 && greatest === 1) refuse(provider, "n");
    body[member] = Math.min(Math.max(value, least), greatest);
  }
}

/** What of a request a provider takes. */
function createFilter(rules: RequestRules, kind: RequestKind | undefined): (member: string) => boolean {
  const only = rules.only && new Set([...always, ...rules.only]);
  const unsupported = new Set(rules.unsupported);
  if (!rules.thinking) unsupported.add("thinking");
  return (member) => (only ? only.has(member) || !isKnownMember(member, kind) : !unsupported.has(member));
}

/**
 * Makes the map of one operation of one provider. It throws `InvalidRequestError` where leaving a member out would make
 * the answer another one than was asked for.
 */
export function createRequestMap(
  provider: string,
  rules: RequestRules,
  { streams, kind }: { streams: boolean; kind?: RequestKind },
): RequestMap {
  const takes = createFilter(rules, kind);
  const tell = (member: string, request: RequestBody, { drop }: ConversionOptions): void => {
    const value = request[member];
    if (value === null || value === undefined) return;
    // an effort says the same in the words most providers know
    if (member === "thinking" && typeof request.reasoning_effort === "string") return;
    if (changesAnswer(member, value, request)) refuse(provider, member);
    drop(member);
  };
  return (request, options) => {
    const given: RequestBody = { ...request };
    if (rules.rename) renameMembers(given, rules.rename, options);
    let body = given;
    for (const member in given) {
      if (takes(member)) continue;
      tell(member, given, options);
      if (body === given) body = { ...given };
      delete body[member];
    }
    if (rules.bounds) applyBounds(body, rules, provider);
    for (const [member, value] of Object.entries(rules.defaults ?? {})) {
      if (body[member] === undefined || body[member] === null || body[member] === "") body[member] = value;
    }
    if (Array.isArray(body.messages)) body.messages = adaptMessages(body.messages, rules, options);
    if (Array.isArray(body.tools)) body.tools = adaptTools(body.tools, rules, options);
    if (streams && takes("stream_options")) body = withStreamUsage(body);
    rules.adapt?.(body, options);
    return body;
  };
}
