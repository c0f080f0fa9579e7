import { RpcError } from "../errors.ts";
import { isObject, stringOf } from "../lib/json.ts";
import type { Message } from "./message.ts";
import { findParamHeaderProblem } from "./param-headers.ts";
import { codes } from "./protocol.ts";
import type { CapabilityKind, DisabledCapabilities, McpServer } from "./registry/mcp-server.ts";

/** A URI in one spelling: servers may read several as the same. */
function plainUri(uri: string): string {
  const href = URL.parse(uri)?.href ?? uri;
  try {
    return decodeURIComponent(href).normalize("NFC");
  } catch {
    return href;
  }
}

/** What a template begins with before its first expression (RFC 6570). */
function literalPrefix(template: string): string {
  return plainUri(template.replace(/\{.*$/s, ""));
}

/** Whether a listed resource, or a template of resources, covers a URI. */
export function coversUri(kind: CapabilityKind, listed: string, uri: string): boolean {
  const plain = plainUri(uri);
  return kind === "resource" ? plainUri(listed) === plain : plain.startsWith(literalPrefix(listed));
}

function holdsUri(uris: ReadonlySet<string>, uri: string): boolean {
  if (uris.size === 0) return false;
  if (uris.has(uri)) return true;
  const plain = plainUri(uri);
  return [...uris].some((one) => plainUri(one) === plain);
}

/** Whether a resource is switched off: by its URI, or by a template that it may come from. */
export function isResourceDisabled(disabled: DisabledCapabilities, uri: string): boolean {
  if (holdsUri(disabled.resource, uri)) return true;
  if (disabled.resource_template.size === 0) return false;
  const plain = plainUri(uri);
  return [...disabled.resource_template].some(
    (template) => template === uri || plain.startsWith(literalPrefix(template)),
  );
}

function refuse(kind: string, name: string): never {
  throw new RpcError(200, `Cannot use the ${kind} "${name.slice(0, 256)}": it is disabled on this server`, {
    rpcCode: codes.invalidParams,
    code: "capability_disabled",
    data: { type: "capability_disabled" },
  });
}

function requireText(value: unknown, member: string): string {
  if (typeof value === "string") return value;
  throw new RpcError(200, `Cannot serve the request: params.${member} must be a string`, {
    rpcCode: codes.invalidParams,
    code: "invalid_params",
  });
}

/** The prompt or resource template that a completion is for. */
function requireReference({ params }: Message, disabled: DisabledCapabilities): void {
  const reference = isObject(params.ref) ? params.ref : {};
  const name = stringOf(reference.name);
  const uri = stringOf(reference.uri);
  if (name !== undefined && disabled.prompt.has(name)) refuse("prompt", name);
  if (uri !== undefined && isResourceDisabled(disabled, uri)) refuse("resource", uri);
}

/**
 * Refuses calls of what is switched off.
 *
 * @throws {RpcError} 200, code -32602.
 */
export function requireEnabled(message: Message, { disabled }: McpServer): void {
  const { method, params, kind } = message;
  if (kind !== "request") return;
  if (method === "tools/call") {
    const name = requireText(params.name, "name");
    if (disabled.tool.has(name)) refuse("tool", name);
  } else if (method === "prompts/get") {
    const name = requireText(params.name, "name");
    if (disabled.prompt.has(name)) refuse("prompt", name);
  } else if (method === "resources/read" || method === "resources/subscribe") {
    const uri = requireText(params.uri, "uri");
    if (isResourceDisabled(disabled, uri)) refuse("resource", uri);
  } else if (method === "completion/complete") requireReference(message, disabled);
}

/** A listening request without the resources that are switched off. */
export function withoutDisabledResources(message: Message, { disabled }: McpServer): Message {
  const { notifications } = message.params;
  if (message.method !== "subscriptions/listen" || !isObject(notifications)) return message;
  const uris = notifications.resourceSubscriptions;
  if (!Array.isArray(uris)) return message;
  const left = uris.filter((uri) => typeof uri !== "string" || !isResourceDisabled(disabled, uri));
  const params = { ...message.params, notifications: { ...notifications, resourceSubscriptions: left } };
  return { ...message, params, value: { ...message.value, params } };
}

/** Whether a notification of a server may reach callers. */
export function mayPass({ method, params }: Pick<Message, "method" | "params">, { disabled }: McpServer): boolean {
  if (method !== "notifications/resources/updated") return true;
  return typeof params.uri !== "string" || !isResourceDisabled(disabled, params.uri);
}

/** Members of list results, what names their items, and the kind of these. */
export const lists: Readonly<Record<string, readonly [member: string, name: string, kind: CapabilityKind]>> = {
  "tools/list": ["tools", "name", "tool"],
  "prompts/list": ["prompts", "name", "prompt"],
  "resources/list": ["resources", "uri", "resource"],
  "resources/templates/list": ["resourceTemplates", "uriTemplate", "resource_template"],
};

/** What a list was left without, and why. */
interface FilteredList {
  readonly result: Record<string, unknown>;
  /** Names of tools that no client can call: their `x-mcp-header` is invalid. */
  readonly unusable: readonly string[];
}

/**
 * The result of a list without what is switched off. Pages may shrink; the cursor stays.
 *
 * @returns Undefined for other results.
 */
export function filterList(
  { method }: Pick<Message, "method">,
  result: Record<string, unknown>,
  { server: { disabled }, isModern }: { server: McpServer; isModern: boolean },
): FilteredList | undefined {
  const list = Object.hasOwn(lists, method) ? lists[method] : undefined;
  if (!list) return undefined;
  const [member, name, kind] = list;
  const items = result[member];
  if (!Array.isArray(items)) return undefined;
  const unusable: string[] = [];
  const left = items.filter((item: unknown) => {
    if (!isObject(item)) return true;
    const value = stringOf(item[name]);
    if (value === undefined) return disabled[kind].size === 0;
    const isOff = kind === "resource" ? isResourceDisabled(disabled, value) : disabled[kind].has(value);
    if (isOff) return false;
    const isUsable = kind !== "tool" || !isModern || findParamHeaderProblem(item.inputSchema) === undefined;
    if (!isUsable) unusable.push(value);
    return isUsable;
  });
  // every page of a list has the same scope, whether it lost an item or not
  const isNarrowed = disabled[kind].size > 0 || (kind === "resource" && disabled.resource_template.size > 0);
  const scope = isNarrowed && result.cacheScope !== undefined ? { cacheScope: "private" } : {};
  return { result: { ...result, [member]: left, ...scope }, unusable };
}
