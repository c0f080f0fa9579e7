import { RpcError } from "../errors.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { isObject } from "../lib/json.ts";
import { isSameJson } from "../lib/same-json.ts";
import { coversUri, lists } from "./capabilities.ts";
import type { McpCall } from "./mcp-call.ts";
import type { Message } from "./message.ts";
import { codes } from "./protocol.ts";
import { isSamePinned } from "./registry/definitions.ts";
import type { CapabilityKind, McpServer } from "./registry/mcp-server.ts";

type Definition = Readonly<Record<string, unknown>>;

/** What callers see of a list, and what is new in it. */
class PinnedList {
  readonly #server: McpServer;
  readonly #kind: CapabilityKind;
  readonly #news: Definition[] = [];
  /** Names of tools and prompts whose definitions nobody approved. */
  readonly unapproved: string[] = [];

  constructor(server: McpServer, kind: CapabilityKind) {
    this.#server = server;
    this.#kind = kind;
  }

  /** An item as callers see it; undefined for one that they do not see. */
  show(name: string, item: Definition): Definition | undefined {
    const { definition = null, approved = null } = this.#server.capabilities[this.#kind].get(name) ?? {};
    const isKnown = definition !== null && isSameJson(definition, item);
    if (!isKnown) this.#news.push(item);
    const isPinned = this.#kind === "tool" || this.#kind === "prompt";
    // the usual case is compared once
    if (!isPinned || (isKnown && approved === definition)) return item;
    if (approved && isSamePinned(this.#kind, approved, item)) return item;
    this.unapproved.push(name);
    const { pinning } = this.#server.settings;
    if (pinning === "log") return item;
    return pinning === "hold" ? (approved ?? undefined) : undefined;
  }

  /** Lets the control plane take up what is new, and notes what nobody approved. */
  report({ context }: McpCall): void {
    const { organisationId, integrationId } = this.#server;
    const { mcp } = context.log;
    if (mcp && this.unapproved.length > 0) mcp.unapproved = this.unapproved.slice(0, maxNoted);
    if (this.#news.length === 0) return;
    const list = { kind: this.#kind, items: this.#news, isComplete: false };
    context.services.control.mcpSync.observe({ organisationId, integrationId }, list);
  }
}

/** When pages of lists that pass in any case were last compared, by method and cursor. A change makes new servers. */
const compared = new WeakMap<McpServer, BoundedMap<string, number>>();
/** Least time between two comparisons of such a page: a busy server is not compared with each request. */
const compareEveryMs = 1_000;

function wasJustCompared({ server, message, context }: McpCall): boolean {
  const pages = compared.get(server) ?? new BoundedMap<string, number>(100);
  compared.set(server, pages);
  const { cursor } = message.params;
  const key = `${message.method} ${typeof cursor === "string" ? cursor.slice(0, 1_024) : ""}`;
  const now = context.services.clock.monotonic();
  const last = pages.get(key);
  if (last !== undefined && now - last < compareEveryMs) return true;
  pages.set(key, now);
  return false;
}

/** Most names that a log row has. */
const maxNoted = 100;

/**
 * The result of a list with the definitions that its server's settings let pass. What is new in it is taken up.
 *
 * @returns The same result where it is no list.
 */
export function pinList(call: McpCall, result: Record<string, unknown>): Record<string, unknown> {
  const { message, server } = call;
  const list = Object.hasOwn(lists, message.method) ? lists[message.method] : undefined;
  if (!list) return result;
  const [member, nameMember, kind] = list;
  const items = result[member];
  if (!Array.isArray(items)) return result;
  const passes = server.settings.pinning === "log" || (kind !== "tool" && kind !== "prompt");
  if (passes && wasJustCompared(call)) return result;
  const pinned = new PinnedList(server, kind);
  const shown = items.flatMap((item: unknown) => {
    const name = isObject(item) ? item[nameMember] : undefined;
    if (!isObject(item) || typeof name !== "string") return passes ? [item] : [];
    return pinned.show(name, item) ?? [];
  });
  pinned.report(call);
  if (passes) return result;
  const scope = result.cacheScope === undefined ? {} : { cacheScope: "private" };
  return { ...result, [member]: shown, ...scope };
}

function refuse(kind: string, name: string, state: string): never {
  throw new RpcError(200, `Cannot use the ${kind} "${name.slice(0, 256)}": ${state}`, {
    rpcCode: codes.invalidParams,
    code: "capability_not_approved",
    data: { type: "capability_not_approved" },
  });
}

/** @throws {RpcError} -32602 for a tool or prompt whose definition is not approved, where the server's settings say so. */
function requireApproved(server: McpServer, kind: "tool" | "prompt", name: string): void {
  const { pinning } = server.settings;
  if (pinning === "log") return;
  const known = server.capabilities[kind].get(name);
  if (!known?.approved) refuse(kind, name, "its definition is not approved");
  const isSame = known.definition !== null && isSamePinned(kind, known.approved, known.definition);
  if (pinning === "hide" && !isSame) refuse(kind, name, "its definition changed and is not approved");
}

/** @throws {RpcError} -32602 for a resource that the server does not list, where its settings say so. */
function requireListed({ settings, capabilities }: McpServer, uri: string): void {
  if (!settings.strict_resources) return;
  const isListed = (["resource", "resource_template"] as const).some((kind) =>
    [...capabilities[kind]].some(([name, { definition }]) => definition !== null && coversUri(kind, name, uri)),
  );
  if (!isListed) refuse("resource", uri, "the server does not list it");
}

/**
 * Refuses calls of what is not approved, and of resources that are not listed, where the settings of the server say so.
 *
 * @throws {RpcError} 200, code -32602.
 */
export function requirePinned({ method, params, kind }: Message, server: McpServer): void {
  if (kind !== "request") return;
  const { name, uri } = params;
  if (method === "tools/call") requireApproved(server, "tool", String(name));
  else if (method === "prompts/get") requireApproved(server, "prompt", String(name));
  else if (method === "resources/read" || method === "resources/subscribe") requireListed(server, String(uri));
  else if (method === "completion/complete") {
    const reference = isObject(params.ref) ? params.ref : {};
    if (typeof reference.name === "string") requireApproved(server, "prompt", reference.name);
    if (typeof reference.uri === "string") requireListed(server, reference.uri);
  }
}
