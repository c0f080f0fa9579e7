import { InvalidRequestError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { ConversionOptions } from "../core/types.ts";
import { isKnownMember, type RequestKind } from "../shared/known.ts";
import { withStreamUsage } from "../shared/plain.ts";
import { adaptMessages, adaptTools, type MessageRules } from "./messages.ts";

/** Fields of a request during adaptation; a copy that may be modified. */
export type RequestBody = Record<string, unknown>;

/** How requests of one operation differ from OpenAI's. */
export interface RequestRules extends MessageRules {
  /** Fields the provider rejects; they are dropped and reported. */
  unsupported?: readonly string[];
  /**
   * OpenAI fields the provider supports besides the model, the input and `stream`; OpenAI's other fields are dropped.
   */
  only?: readonly string[];
  /**
   * Fields with other names. A value under the provider's own name takes precedence, but not one under an older OpenAI
   * name.
   */
  rename?: Readonly<Record<string, string>>;
  /** Bounds of numbers; values outside are clamped. */
  bounds?: Readonly<Record<string, readonly [number, number]>>;
  /** Defaults for fields that are absent, null or an empty string. */
  defaults?: Readonly<Record<string, unknown>>;
  /** The provider supports `thinking`: whether to think, and how much. */
  thinking?: boolean;
  /** Changes that no table can express; runs last. */
  adapt?(body: RequestBody, options: ConversionOptions): void;
}

/** Maps a request to the one that is sent; does not modify its argument. */
type RequestMap = (request: object, options: ConversionOptions) => RequestBody;

/** Whether a `thinking` object asks for none. */
const isOff = (thinking: unknown): boolean => isObject(thinking) && thinking.type === "disabled";

const always = ["model", "messages", "prompt", "input", "stream"];

/** Whether dropping the field would change what the caller asked for. */
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

function refuseUnsupported(provider: string, member: string): never {
  const what = member === "n" ? "n above 1" : member;
  throw new InvalidRequestError(`Cannot send ${what} to ${provider}: the provider does not support it`, {
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
    // when both names are OpenAI's, the newer one takes precedence
    const isNewer = isKnownMember(there);
    if (other !== undefined && other !== value) drop(isNewer ? there : name);
    if (other === undefined || isNewer) body[there] = value;
  }
}

function applyBounds(body: RequestBody, { bounds }: RequestRules, provider: string): void {
  for (const [member, [least, greatest]] of Object.entries(bounds ?? {})) {
    const value = body[member];
    if (typeof value !== "number") continue;
    if (member === "n" && value > 1 && greatest === 1) refuseUnsupported(provider, "n");
    body[member] = Math.min(Math.max(value, least), greatest);
  }
}

/** Creates the test for fields a provider supports. */
function createFilter(rules: RequestRules, kind: RequestKind | undefined): (member: string) => boolean {
  const only = rules.only && new Set([...always, ...rules.only]);
  const unsupported = new Set(rules.unsupported);
  if (!rules.thinking) unsupported.add("thinking");
  return (member) => (only ? only.has(member) || !isKnownMember(member, kind) : !unsupported.has(member));
}

/**
 * Creates the request mapping for one operation of one provider. The mapping throws `InvalidRequestError` when dropping
 * a field would change what the caller asked for.
 */
export function createRequestMap(
  provider: string,
  rules: RequestRules,
  { streams, kind }: { streams: boolean; kind?: RequestKind },
): RequestMap {
  const takes = createFilter(rules, kind);
  const report = (member: string, request: RequestBody, { drop }: ConversionOptions): void => {
    const value = request[member];
    if (value === null || value === undefined) return;
    // the effort level says the same in a form most providers support, and most models do not think by themselves
    if (member === "thinking" && (typeof request.reasoning_effort === "string" || isOff(value))) return;
    if (changesAnswer(member, value, request)) refuseUnsupported(provider, member);
    drop(member);
  };
  return (request, options) => {
    const given: RequestBody = { ...request };
    if (rules.rename) renameMembers(given, rules.rename, options);
    let body = given;
    for (const member in given) {
      if (takes(member)) continue;
      report(member, given, options);
      if (body === given) body = { ...given };
      delete body[member];
    }
    if (rules.bounds) applyBounds(body, rules, provider);
    for (const [member, value] of Object.entries(rules.defaults ?? {})) {
      if (body[member] === undefined || body[member] === null || body[member] === "") body[member] = value;
    }
    if (Array.isArray(body.messages)) body.messages = adaptMessages(body.messages, rules, options);
    if (Array.isArray(body.tools)) body.tools = adaptTools(body.tools, rules, options);
    if (body.stream !== true && body.stream_options != null) {
      // hosts refuse it without a stream
      options.drop("stream_options");
      const { stream_options: _, ...whole } = body;
      body = whole;
    }
    if (streams && body.stream === true && takes("stream_options")) body = withStreamUsage(body);
    rules.adapt?.(body, options);
    return body;
  };
}
