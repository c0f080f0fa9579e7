import { createOwnRequest, headersOfTrace } from "../context/own-request.ts";
import { createStreamBudget } from "../lib/budget.ts";
import { isObject, parseJson } from "../lib/json.ts";
import type { Ending, Reply } from "../lib/reply.ts";
import { EventBlocks, eventsWithin, readEvents } from "../lib/sse.ts";
import { PushedStream } from "../upstream/client-stream.ts";
import { findJoinedUri, openMembers, toJoinedUri } from "./aggregate.ts";
import { isEventStream } from "./answer.ts";
import { isResourceDisabled } from "./capabilities.ts";
import { ListeningWatch } from "./listening-watch.ts";
import type { McpCall } from "./mcp-call.ts";
import { metaOf } from "./message.ts";
import { meta } from "./protocol.ts";
import type { McpMember } from "./registry/mcp-server.ts";
import { enterListening, streamHeaders } from "./relay.ts";
import { writeStreamEvent } from "./sse-fields.ts";

type Item = Readonly<Record<string, unknown>>;

/** Time in which members say what they report; slower ones report too, without being named. */
const acknowledgeMs = 3_000;
/** Waits before a member whose stream ended is asked again. */
const firstRetryMs = 1_000;
const maxRetryMs = 60_000;

/** Lists whose changes are reported. */
const listMembers = ["toolsListChanged", "promptsListChanged", "resourcesListChanged"] as const;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What is asked of a member: changes of its lists, and of resources by their URIs there. */
function askedOf(call: McpCall, member: McpMember): Item {
  const { notifications } = call.message.params;
  const asked = isObject(notifications) ? notifications : {};
  const { userId } = call.context.principal;
  const given = Array.isArray(asked.resourceSubscriptions) ? asked.resourceSubscriptions : [];
  const uris = given.flatMap((uri: unknown) => {
    if (typeof uri !== "string" || isResourceDisabled(call.server.disabled, uri)) return [];
    const found = findJoinedUri(call.server, uri, userId);
    return found?.member === member ? [found.uri] : [];
  });
  return {
    ...Object.fromEntries(listMembers.filter((name) => asked[name] === true).map((name) => [name, true])),
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
  };
}

/** A notification of a member as clients of the joined server get it; undefined for one that they do not get. */
function toJoined(call: McpCall, { prefix }: McpMember, value: Item): Item | undefined {
  const params = isObject(value.params) ? value.params : {};
  const own = { ...params, _meta: { ...metaOf(params), [meta.subscriptionId]: call.message.id } };
  if (value.method !== "notifications/resources/updated") return { ...value, params: own };
  const uri = toJoinedUri(prefix, String(params.uri));
  return isResourceDisabled(call.server.disabled, uri) ? undefined : { ...value, params: { ...own, uri } };
}

/** One stream for a client that listens at a server that joins others: the notifications of all members. */
class JoinedListening extends PushedStream {
  readonly #call: McpCall;
  readonly #abort = new AbortController();
  readonly #over = Promise.withResolvers<Ending>();
  readonly #watch: ListeningWatch;

  constructor(call: McpCall) {
    super(call.context.services, "comment");
    this.#call = call;
    this.#watch = new ListeningWatch(call, () => this.end());
  }

  start(): { body: ReadableStream<Uint8Array>; finished: Promise<Ending> } {
    this.register();
    const body = this.open();
    // for those who listen, leaving is how listening ends
    this.#call.context.request.signal.addEventListener("abort", () => this.#finish(), { once: true });
    void this.#begin();
    return { body, finished: this.#over.promise };
  }

  override tick(now: number): void {
    this.#watch.tick(now);
    super.tick(now);
  }

  /** Ends it as a server would: the client listens again. */
  override end(): void {
    if (this.isOver) return;
    const { id } = this.#call.message;
    const result = { resultType: "complete", _meta: { [meta.subscriptionId]: id } };
    this.#say({ jsonrpc: "2.0", id, result });
    this.close();
    this.#finish();
  }

  protected override leave(): void {
    super.leave();
    this.#finish();
  }

  #finish(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#abort.abort();
    this.unregister();
    this.#call.context.log.responseBody = this.sent;
    this.#over.resolve({ status: 200 });
  }

  #say(value: unknown): void {
    if (this.isOver) return;
    const plain = { event: undefined, id: undefined, retry: undefined };
    this.send(encoder.encode(writeStreamEvent({ ...plain, data: JSON.stringify(value) })));
  }

  /** Begins, and says what is reported once the members said so. */
  async #begin(): Promise<void> {
    const { context, server, message } = this.#call;
    const { services, principal } = context;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const stop = services.timers.start(acknowledgeMs, resolve);
    const reported: { member: McpMember; notifications: Item }[] = [];
    const begun = Promise.withResolvers<void>();
    const asked = openMembers(server, principal.userId).flatMap((member) => {
      const notifications = askedOf(this.#call, member);
      return Object.keys(notifications).length === 0 ? [] : [{ member, notifications }];
    });
    const acknowledged = asked.map(({ member, notifications }) => {
      const one = Promise.withResolvers<void>();
      this.#follow(member, notifications, begun.promise, (honoured) => {
        reported.push({ member, notifications: honoured });
        one.resolve();
      });
      return one.promise;
    });
    await Promise.race([late, Promise.all(acknowledged)]);
    stop();
    const params = { notifications: joinReported(reported), _meta: { [meta.subscriptionId]: message.id } };
    this.#say({ jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params });
    begun.resolve();
  }

  /** Listens at a member as long as the client listens. */
  async #follow(member: McpMember, asked: Item, begun: Promise<void>, note: (honoured: Item) => void): Promise<void> {
    const { signal } = this.#abort;
    for (let retryMs = firstRetryMs; !signal.aborted; retryMs = Math.min(retryMs * 2, maxRetryMs)) {
      try {
        await this.#listen(member, asked, async (value) => {
          if (value.method === "notifications/subscriptions/acknowledged") {
            const { notifications } = Object(value.params);
            return note(isObject(notifications) ? notifications : {});
          }
          await begun;
          // the lists of the joined server are made of what was last read
          if (String(value.method).endsWith("/list_changed")) await this.#reread(member);
          const shown = typeof value.method === "string" ? toJoined(this.#call, member, value) : undefined;
          if (shown) this.#say(shown);
        });
      } catch {
        // it is asked again
      }
      note({});
      await new Promise<void>((resolve) => {
        this.#call.context.services.timers.start(retryMs, resolve);
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    }
  }

  #reread({ server: { organisationId, integrationId } }: McpMember): Promise<void> {
    return this.#call.context.services.control.mcpSync.reread({ organisationId, integrationId });
  }

  /** Reads one stream of a member, by a request that counts as the caller's at that server. */
  async #listen({ server }: McpMember, asked: Item, take: (value: Item) => Promise<void>): Promise<void> {
    const { services, principal, connection } = this.#call.context;
    const { grant: _, ...actingFor } = principal;
    const request = createOwnRequest(`/m/${encodeURIComponent(server.slug)}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": this.#call.version ?? "",
        "mcp-method": "subscriptions/listen",
        ...headersOfTrace(this.#call.context),
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "subscriptions/listen",
        params: { notifications: asked, _meta: this.#call.message.params._meta },
      }),
      signal: this.#abort.signal,
    });
    const { remoteAddress } = connection;
    const response = await services.handle(request, {
      actingFor,
      ...(remoteAddress !== undefined && { remoteAddress }),
    });
    const reader = response.body?.getReader();
    this.#abort.signal.addEventListener("abort", () => void reader?.cancel().catch(() => {}), { once: true });
    if (!isEventStream(response) || !reader) return void reader?.cancel().catch(() => {});
    const blocks = new EventBlocks();
    const budget = createStreamBudget("the events of a server");
    for (let isOver = false; !isOver; ) {
      const { done, value } = await reader.read();
      const block = value ? blocks.push(value) : blocks.takeRest();
      const text = block ? decoder.decode(block) : "";
      for await (const { data } of eventsWithin(text, budget, readEvents)) {
        const message = parseJson(data);
        if (isObject(message)) await take(message);
      }
      isOver = done;
    }
  }
}

/** What a stream reports, by what its members report. */
function joinReported(reported: readonly { member: McpMember; notifications: Item }[]): Item {
  const lists = listMembers.filter((name) => reported.some(({ notifications }) => notifications[name] === true));
  const uris = reported.flatMap(({ member, notifications: { resourceSubscriptions: list } }) =>
    Array.isArray(list) ? list.map((uri) => toJoinedUri(member.prefix, String(uri))) : [],
  );
  return {
    ...Object.fromEntries(lists.map((name) => [name, true])),
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
  };
}

/** Serves a client of the newest revision that listens at a server that joins others. @throws {RpcError} 503 for too many streams. */
export function listenAtMembers(call: McpCall): Reply {
  const leave = enterListening(call);
  call.context.log.stream = true;
  const { body, finished } = new JoinedListening(call).start();
  return { status: 200, headers: { ...streamHeaders }, body, finished: finished.finally(leave) };
}
