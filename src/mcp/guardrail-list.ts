import { coversUri } from "./capabilities.ts";
import type { Message } from "./message.ts";
import type { CapabilityKind, McpGuardrail, McpServer } from "./registry/mcp-server.ts";

/** Names of guardrails as a config would write them. */
type Written = Readonly<Record<"input_guardrails" | "output_guardrails", readonly string[]>>;

/** What a guarded request is for: the kind of a capability, and its name or URI. */
const guarded: Readonly<Record<string, readonly [kinds: readonly CapabilityKind[], member: "name" | "uri"]>> = {
  "tools/call": [["tool"], "name"],
  "prompts/get": [["prompt"], "name"],
  "resources/read": [["resource", "resource_template"], "uri"],
};

/** Whether guardrails can run on a message: requests, and what a client answers to a question of the server. */
export function isGuarded({ method, kind }: Pick<Message, "method" | "kind">): boolean {
  return kind === "response" || (kind === "request" && Object.hasOwn(guarded, method));
}

/** Whether the defaults of the workspace run on a message, and guardrails for the whole server. */
export function belongsToTools({ method, kind }: Pick<Message, "method" | "kind">): boolean {
  return kind === "response" || method === "tools/call";
}

/** Ids of the capabilities that a request is for. */
function capabilityIdsOf({ method, params }: Message, { capabilities }: McpServer): string[] {
  const [kinds = [], member = "name"] = guarded[method] ?? [];
  const name = params[member];
  if (typeof name !== "string") return [];
  return kinds.flatMap((kind) => {
    if (kind === "tool" || kind === "prompt") return capabilities[kind].get(name)?.id ?? [];
    return [...capabilities[kind]].flatMap(([listed, { id }]) => (coversUri(kind, listed, name) ? id : []));
  });
}

/** Whether a guardrail runs on a request. Those for the whole server run on its tools. */
function runsOn({ capabilityIds }: McpGuardrail, ids: readonly string[], isTool: boolean): boolean {
  return capabilityIds.size === 0 ? isTool : ids.some((id) => capabilityIds.has(id));
}

/** Lists by server and content: guardrails are resolved once for each list object. */
const known = new WeakMap<McpServer, Map<string, Written>>();

/** The guardrails of a server that run on a request, in the order of their mappings. */
export function guardrailsOf(message: Message, server: McpServer): Written {
  const isTool = belongsToTools(message);
  const ids = server.guardrails.some(({ capabilityIds }) => capabilityIds.size > 0)
    ? capabilityIdsOf(message, server)
    : [];
  // an answer to a question does not say which call asked it
  const isAnswer = message.kind === "response";
  const meant = server.guardrails.filter((one) => isAnswer || runsOn(one, ids, isTool));
  const listOf = (phase: "input" | "output") =>
    meant.filter(({ runsOn: phases }) => phases.has(phase)).map(({ guardrailId }) => guardrailId);
  const written: Written = { input_guardrails: listOf("input"), output_guardrails: listOf("output") };
  const key = JSON.stringify(written);
  const lists = known.get(server) ?? new Map<string, Written>();
  known.set(server, lists);
  const found = lists.get(key) ?? written;
  lists.set(key, found);
  return found;
}
