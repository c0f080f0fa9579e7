import type { CallerContext, RunningStream } from "../../context.ts";
import { toGatewayError } from "../../errors.ts";
import { createStreamBudget } from "../../lib/budget.ts";
import { type ExactValue, parseExact } from "../../lib/exact-numbers.ts";
import { isObject, parseJson, stringOf } from "../../lib/json.ts";
import { KeepAlive } from "../../lib/keep-alive.ts";
import type { Ending, Reply } from "../../lib/reply.ts";
import { EventBlocks, eventsWithin, readEvents } from "../../lib/sse.ts";
import { BodyPieces } from "../../logs/body.ts";
import { operationFacts } from "../facts/operation-facts.ts";
import { replay } from "../stream/replay.ts";
import { headersOf, isEventStream, type ModelRound, readRound } from "./model-rounds.ts";
import { askModel } from "./server-tools.ts";
import { type LiveRound, type RoundForm, Rounds } from "./tool-rounds.ts";

type Item = Readonly<Record<string, unknown>>;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Sends the events of rounds to a caller as they come. */
class RoundStream implements RunningStream {
  readonly #form: RoundForm;
  readonly #context: CallerContext;
  readonly #rounds: Rounds;
  readonly #sent = new BodyPieces();
  readonly #budget = createStreamBudget("the stream of a model");
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly body: ReadableStream<Uint8Array>;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #keepAlive: KeepAlive;
  #number = 0;
  #hasLeft = false;
  #isStopped = false;

  constructor(form: RoundForm, context: CallerContext) {
    this.#form = form;
    this.#context = context;
    this.#rounds = new Rounds(form);
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    this.body = readable;
    this.#writer = writable.getWriter();
    this.#writer.closed.catch(() => this.#leave());
    const { clock, limits } = context.services;
    const name = form.operation === "messages" ? "ping" : "comment";
    this.#keepAlive = new KeepAlive(limits.streamKeepAliveMs, clock.monotonic(), name);
  }

  tick(now: number): void {
    const bytes = this.#keepAlive.take(now);
    if (bytes) this.#writer.write(bytes).catch(() => {});
  }

  end(): void {
    this.#isStopped = true;
    this.#reader?.cancel().catch(() => {});
  }

  /** The caller disconnected. */
  #leave(): void {
    this.#hasLeft = true;
    this.#reader?.cancel().catch(() => {});
  }

  /** Sends events; waits until the caller takes them. */
  async #say(events: readonly Item[], write: (value: unknown) => string = JSON.stringify): Promise<void> {
    for (const event of events) {
      const isNumbered = this.#form.operation === "responses";
      const shown = isNumbered ? { ...event, sequence_number: this.#number++ } : event;
      const name = typeof event.type === "string" ? `event: ${event.type}\n` : "";
      const bytes = encoder.encode(`${name}data: ${write(shown)}\n\n`);
      this.#sent.add(bytes);
      this.#keepAlive.note(bytes, this.#context.services.clock.monotonic());
      await this.#writer.write(bytes);
    }
  }

  /** Sends what a block of events of a round becomes. */
  async #pass(text: string, live: LiveRound): Promise<ExactValue["numbers"]> {
    let numbers: ExactValue["numbers"];
    for await (const { data } of eventsWithin(text, this.#budget, readEvents)) {
      if (parseJson(data) === undefined) continue;
      const json = parseExact(data);
      if (isObject(json.value)) await this.#say(live.push(json.value), json.write);
      numbers = json.numbers ?? numbers;
    }
    return numbers;
  }

  /** Reads a round; undefined if it ended before its response did. */
  async #read(response: Response): Promise<(ModelRound & { body: Item }) | undefined> {
    const live = this.#form.live();
    let numbers: ExactValue["numbers"];
    if (isEventStream(response)) {
      this.#reader = response.body?.getReader();
      const blocks = new EventBlocks();
      for (let isOver = false; !isOver && this.#reader; ) {
        const { done, value } = await this.#reader.read();
        const block = value ? blocks.push(value) : blocks.takeRest();
        numbers = (block && (await this.#pass(decoder.decode(block), live))) ?? numbers;
        isOver = done;
      }
    } else {
      const { body } = await readRound(response);
      const { requestType } = operationFacts[this.#form.operation];
      if (body) numbers = await this.#pass(replay(requestType, body, { includeUsage: true }), live);
    }
    const body = live.whole();
    return body && { body: { ...body }, numbers, reply: { status: response.status, headers: {}, body: null } };
  }

  /** Sends the failure of a later round as an event. */
  async #failRound(response: Response): Promise<Ending> {
    const { reply } = await readRound(response);
    const { error } = Object(parseJson(String(reply.body)));
    const message = (isObject(error) ? stringOf(error.message) : undefined) ?? "The model did not answer";
    await this.#say([this.#form.toError(message)]);
    return { status: response.status };
  }

  async #runRounds(first: Response): Promise<Ending> {
    for (let response = first; ; ) {
      const round = await this.#read(response);
      if (this.#hasLeft) return { status: 499 };
      if (this.#isStopped) await this.#say([this.#form.toError("The gateway is stopping")]);
      // the round has sent its error already
      if (!round || this.#isStopped) return { status: 502 };
      const answer = await this.#rounds.take(round, (events) => this.#say(events));
      if (answer) {
        const { numbers } = round;
        const write = (value: unknown) => numbers?.restore(JSON.stringify(value)) ?? JSON.stringify(value);
        await this.#say(this.#form.closing(answer), write);
        return { status: response.status };
      }
      response = await askModel(this.#form.path, { ...this.#form.next(), stream: true }, this.#context);
      if (response.status > 299) return this.#failRound(response);
    }
  }

  /** Sends all rounds; how it ended. Never rejects. */
  async run(first: Response): Promise<Ending> {
    const { services, log } = this.#context;
    services.streams.add(this);
    let ending: Ending;
    try {
      ending = await this.#runRounds(first);
    } catch (error) {
      ending = this.#hasLeft ? { status: 499 } : { status: toGatewayError(error).status, error };
      if (!this.#hasLeft) await this.#say([this.#form.toError(toGatewayError(error).message)]).catch(() => {});
    }
    services.streams.delete(this);
    log.responseBody = this.#sent;
    await this.#writer.close().catch(() => {});
    return ending;
  }
}

/** The response to a streaming request: the events of its rounds, from the first one on. */
export function streamRounds(form: RoundForm, first: Response, context: CallerContext): Reply {
  const stream = new RoundStream(form, context);
  context.log.stream = true;
  const headers = { ...headersOf(first), "content-type": "text/event-stream; charset=utf-8" };
  return { status: first.status, headers, body: stream.body, finished: stream.run(first) };
}
