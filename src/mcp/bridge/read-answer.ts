import type { Budget } from "../../lib/budget.ts";
import { isObject } from "../../lib/json.ts";
import { EventBlocks, eventsWithin } from "../../lib/sse.ts";
import type { Attempt } from "../../upstream/attempt.ts";
import { isAnswerTo, isEventStream, readAnswerMessage, resultLimit } from "../answer.ts";
import { readExchange } from "../exchange.ts";
import type { McpCall } from "../mcp-call.ts";
import { createMessageBudget } from "../message-budget.ts";
import { readStreamEvents, type StreamEvent, writeStreamEvent } from "../sse-fields.ts";
import { describeFailure, upstreamError } from "../upstream.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Most events without a message at the beginning of a stream. */
const maxBefore = 16;
/** Room of an event around its result. */
const eventOverhead = 4_096;

/** Reads the events of a stream one by one; what is left can be read by others. */
export class EventReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #blocks: EventBlocks;
  readonly #budget: Budget;
  /** Events that were given back, and those of the last block that nobody took. */
  #unread: StreamEvent[] = [];
  #waiting: AsyncGenerator<StreamEvent, void> | undefined;

  /** @param call Decides the most bytes of one event, and the most events. */
  constructor(body: ReadableStream<Uint8Array>, call: McpCall) {
    this.#reader = body.getReader();
    this.#blocks = new EventBlocks(resultLimit(call) + eventOverhead);
    this.#budget = createMessageBudget(call);
  }

  /** The next event; undefined at the end. */
  async next(): Promise<StreamEvent | undefined> {
    for (;;) {
      const known = await this.#known();
      if (known) return known;
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      const block = this.#blocks.push(value);
      if (block) this.#waiting = eventsWithin(decoder.decode(block), this.#budget, readStreamEvents);
    }
  }

  /** The next event that was read already. */
  async #known(): Promise<StreamEvent | undefined> {
    const [first, ...rest] = this.#unread;
    this.#unread = rest;
    if (first) return first;
    const next = await this.#waiting?.next();
    if (next?.done) this.#waiting = undefined;
    return next?.value ?? undefined;
  }

  /** The next event with a message; undefined at the end. */
  async nextMessage(): Promise<StreamEvent | undefined> {
    for (;;) {
      const event = await this.next();
      if (!event || event.data?.trim()) return event;
    }
  }

  /** Gives events back, to be read again. */
  unread(...given: StreamEvent[]): void {
    this.#unread = [...given, ...this.#unread];
  }

  /** The rest of the stream, with the events that were read but not taken. */
  rest(): ReadableStream<Uint8Array> {
    const reader = this.#reader;
    let pending = this.#blocks.takeRest();
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const known = await this.#known();
          if (known) return controller.enqueue(encoder.encode(writeStreamEvent(known)));
          if (pending) {
            controller.enqueue(pending);
            pending = undefined;
            return;
          }
          const { done, value } = await reader.read();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }

  /** Ends the stream. */
  close(): void {
    this.#reader.cancel().catch(() => {});
  }
}

/** The answer to a call among the next events of a stream. @throws {RpcError} 502 if the stream ends before it. */
export async function nextAnswer(call: McpCall, events: EventReader): Promise<Record<string, unknown>> {
  for (let event = await events.nextMessage(); event; event = await events.nextMessage()) {
    const read = readAnswerMessage(encoder.encode(event.data ?? ""));
    if (read && isAnswerTo(call, read.value)) return read.value;
  }
  throw upstreamError(502, "Cannot use the answer of the server: the stream ended before it");
}

/**
 * The result of a call that the gateway makes itself.
 *
 * @throws {GatewayError} 502 or 504 without an answer.
 */
export async function readWholeAnswer(
  call: McpCall,
  response: Response,
  attempt: Attempt,
): Promise<Record<string, unknown>> {
  const outcome = await readExchange(call, response, attempt);
  if (outcome.kind === "json") return outcome.answer.value;
  if (outcome.kind === "accepted" || outcome.response.body === null) {
    throw upstreamError(502, "Cannot use the answer of the server: it has no body");
  }
  const events = new EventReader(outcome.response.body, call);
  try {
    return await nextAnswer(call, events);
  } catch (error) {
    throw describeFailure(error, attempt);
  } finally {
    events.close();
  }
}

/**
 * The response of a stream whose first event is an error that ends the call: as JSON, so that it can have a status. Other
 * streams stay as they are.
 */
export async function errorBeforeStream(call: McpCall, response: Response): Promise<Response> {
  if (!isEventStream(response) || response.status !== 200 || response.body === null) return response;
  const events = new EventReader(response.body, call);
  const before: StreamEvent[] = [];
  let first = await events.next();
  // a stream may begin with an event that only has an id
  for (; first && !first.data?.trim() && before.length < maxBefore; first = await events.next()) before.push(first);
  const read = first?.data === undefined ? undefined : readAnswerMessage(encoder.encode(first.data));
  if (read && isAnswerTo(call, read.value) && isObject(read.value.error)) {
    events.close();
    return new Response(read.json.write(read.value), { headers: { "content-type": "application/json" } });
  }
  events.unread(...before, ...(first ? [first] : []));
  return new Response(events.rest(), { status: response.status, headers: response.headers });
}

/** The `result` of an answer; undefined for an error. */
export function resultIn(answer: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  return isObject(answer.result) ? answer.result : undefined;
}
