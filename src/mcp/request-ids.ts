import { isObject, parseJson } from "../lib/json.ts";
import { isRpcId, type Message, metaOf, type RpcId } from "./message.ts";
import { meta } from "./protocol.ts";

/** What ids begin with upstream. */
const prefix = "gw:";

/** The id of a request as the upstream sees it: the client's id can be read from it, and numbers differ from strings. */
export function toUpstreamId(id: RpcId): string {
  return prefix + JSON.stringify(id);
}

/** The client's id; undefined for ids that the gateway did not make. */
function fromUpstreamId(id: unknown): RpcId | undefined {
  if (typeof id !== "string" || !id.startsWith(prefix)) return undefined;
  const read = parseJson(id.slice(prefix.length));
  return isRpcId(read) ? read : undefined;
}

/** A message of a client with the ids that the upstream sees. Responses to requests of the upstream stay as they are. */
export function withUpstreamIds({ kind, id, method, params, value }: Message): Record<string, unknown> {
  if (kind === "request" && id !== undefined) return { ...value, id: toUpstreamId(id) };
  const { requestId } = params;
  if (kind === "notification" && method === "notifications/cancelled" && isRpcId(requestId)) {
    return { ...value, params: { ...params, requestId: toUpstreamId(requestId) } };
  }
  return { ...value };
}

/** Parameters or a result of an upstream with the client's id where they name the subscription they belong to. */
export function withClientSubscription<Value>(value: Value): Value {
  const own = metaOf(value);
  const id = fromUpstreamId(own[meta.subscriptionId]);
  return id === undefined || !isObject(value) ? value : { ...value, _meta: { ...own, [meta.subscriptionId]: id } };
}
