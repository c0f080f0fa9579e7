import type { Services } from "../../context.ts";
import { isObject } from "../../lib/json.ts";
import type { Attempt } from "../../upstream/attempt.ts";
import { isEventStream } from "../answer.ts";
import { openStream, postMessage } from "../exchange.ts";
import type { McpCall } from "../mcp-call.ts";
import { meta } from "../protocol.ts";
import type { PooledSession } from "../registry/session-pool.ts";
import type { Route } from "../relay.ts";
import { writeStreamEvent } from "../sse-fields.ts";
import { beginSession, freshId, idInSession, ownMessage, toLegacyCall } from "./legacy-session.ts";
import { readWholeAnswer, resultIn } from "./read-answer.ts";

/** Most resources whose changes one stream reports. */
const maxResources = 100;

/** Lists whose changes can be reported: the asked member, the capability, and the notification. */
const lists = [
  ["toolsListChanged", "tools", "notifications/tools/list_changed"],
  ["promptsListChanged", "prompts", "notifications/prompts/list_changed"],
  ["resourcesListChanged", "resources", "notifications/resources/list_changed"],
] as const;

/** What a stream reports. */
interface Honoured {
  readonly notifications: Record<string, unknown>;
  readonly methods: ReadonlySet<string>;
}

/** What a server can report of what is asked. */
async function subscribe(call: McpCall, session: PooledSession, attempt: Attempt): Promise<Honoured> {
  const asked = isObject(call.message.params.notifications) ? call.message.params.notifications : {};
  const offered = isObject(session.about.capabilities) ? session.about.capabilities : {};
  const offers = (name: string, flag: string) => isObject(offered[name]) && offered[name][flag] === true;
  const meant = lists.filter(([member, name]) => asked[member] === true && offers(name, "listChanged"));
  const uris =
    Array.isArray(asked.resourceSubscriptions) && offers("resources", "subscribe")
      ? asked.resourceSubscriptions.slice(0, maxResources)
      : [];
  const honoured: string[] = [];
  for (const uri of uris) {
    if (typeof uri !== "string") continue;
    const one = toLegacyCall(call, ownMessage("resources/subscribe", { uri }, freshId()), session);
    const { upstreamId: _, ...plain } = one;
    if (resultIn(await readWholeAnswer(plain, await postMessage(plain, attempt), attempt))) honoured.push(uri);
  }
  const methods = meant.map(([, , method]): string => method);
  if (honoured.length > 0) methods.push("notifications/resources/updated");
  const notifications = {
    ...Object.fromEntries(meant.map(([member]) => [member, true])),
    ...(honoured.length > 0 && { resourceSubscriptions: honoured }),
  };
  return { notifications, methods: new Set(methods) };
}

const encoder = new TextEncoder();

/** Time in which a server that has no stream says so. One that has a stream may say nothing before its first event. */
const refusalMs = 250;

/** The body of a stream; null where the server opens none. */
async function bodyOf(opening: Promise<Response>): Promise<ReadableStream<Uint8Array> | null> {
  const response = await opening;
  if (response.status === 200 && isEventStream(response)) return response.body;
  response.body?.cancel().catch(() => {});
  return null;
}

/** Whether a server opens a stream, as far as it said so in time. */
async function opens(body: Promise<ReadableStream<Uint8Array> | null>, { timers }: Pick<Services, "timers">) {
  const { promise: late, resolve } = Promise.withResolvers<true>();
  const stop = timers.start(refusalMs, () => resolve(true));
  const isOpen = await Promise.race([late, body.then((stream) => stream !== null)]);
  stop();
  return isOpen;
}

type Opening = Promise<ReadableStream<Uint8Array> | null>;

/** A stream that begins with a message; then it continues, or stays open until it is cancelled. */
function beginWith(message: object, rest: Opening | undefined): Response {
  const plain = { event: undefined, id: undefined, retry: undefined };
  let first: Uint8Array | undefined = encoder.encode(writeStreamEvent({ ...plain, data: JSON.stringify(message) }));
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (first) {
          controller.enqueue(first);
          first = undefined;
          return;
        }
        reader ??= (await rest)?.getReader();
        if (!reader) return new Promise(() => {});
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel(reason) {
        reader ??= (await rest)?.getReader();
        await reader?.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/** How a client of the newest revision listens at a server of the older ones: by a session that no other call uses. */
export function toListeningRoute(call: McpCall): { call: McpCall; route: Route } {
  const subscriptionId = idInSession(call.message);
  let session: PooledSession | undefined;
  let honoured: Honoured = { notifications: {}, methods: new Set() };
  const send = async (_: McpCall, attempt: Attempt): Promise<Response> => {
    session = await beginSession(call, attempt);
    honoured = await subscribe(call, session, attempt);
    const acknowledged = {
      jsonrpc: "2.0",
      method: "notifications/subscriptions/acknowledged",
      params: { notifications: honoured.notifications, _meta: { [meta.subscriptionId]: subscriptionId } },
    };
    if (honoured.methods.size === 0) return beginWith(acknowledged, undefined);
    const body = bodyOf(openStream(toLegacyCall(call, ownMessage("listen", {}), session), attempt));
    // it may fail after nobody reads it any more
    body.catch(() => {});
    if (await opens(body, call.context.services)) return beginWith(acknowledged, body);
    return beginWith({ ...acknowledged, params: { ...acknowledged.params, notifications: {} } }, undefined);
  };
  const toNotification = (value: Record<string, unknown>): Record<string, unknown> | undefined => {
    const method = String(value.method);
    if (method === "notifications/subscriptions/acknowledged") return value;
    if (!honoured.methods.has(method)) return undefined;
    const params = isObject(value.params) ? value.params : {};
    const own = isObject(params._meta) ? params._meta : {};
    return { ...value, params: { ...params, _meta: { ...own, [meta.subscriptionId]: call.message.id } } };
  };
  const onOver = () => void session?.end();
  return { call, route: { send, toNotification, isQuiet: true, onOver } };
}
