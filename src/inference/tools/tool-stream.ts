import type { CallerContext } from "../../context.ts";
import type { StreamError } from "../../dialects/types.ts";
import { ClientClosedError, toGatewayError } from "../../errors.ts";
import { createStreamBudget } from "../../lib/budget.ts";
import { type ExactValue, parseExact } from "../../lib/exact-numbers.ts";
import { isObject, parseJson, stringOf } from "../../lib/json.ts";
import type { Ending, Reply } from "../../lib/reply.ts";
import { EventBlocks, eventsWithin, readEvents } from "../../lib/sse.ts";
import { PushedStream } from "../../upstream/client-stream.ts";
import { operationFacts } from "../facts/operation-facts.ts";
import { replay } from "../stream/replay.ts";
import { headersOf, isEventStream, type ModelRound, readRound } from "./model-rounds.ts";
import { askModel } from "./own-requests.ts";
import { type LiveRound, type RoundForm, Rounds } from "./tool-rounds.ts";

type Item = Readonly<Record<string, unknown>>;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const stopping: StreamError = { message: "The gateway is stopping", type: "server_error", code: null, status: 503 };

/** The error of a round that got no answer. */
function toStreamError({ message, type, code }: Item, status: number): StreamError {
  return {
    message: stringOf(message) ?? "The model did not answer",
    type: stringOf(type) ?? (status < 500 ? "invalid_request_error" : "upstream_error"),
    code: stringOf(code) ?? null,
    status,
  };
}

/** Sends the events of rounds to a caller as they come. */
class RoundStream extends PushedStream {
  readonly #form: RoundForm;
  readonly #context: CallerContext;
  readonly #rounds: Rounds;
  readonly #budget = createStreamBudget("the stream of a model");
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #number = 0;
  #isStopped = false;

  constructor(form: RoundForm, context: CallerContext) {
    super(context.services, form.operation === "messages" ? "ping" : "comment");
    this.#form = form;
    this.#context = context;
    this.#rounds = new Rounds(form);
  }

  /** Sends all rounds, from the response to the first one on. */
  start(first: Response): { body: ReadableStream<Uint8Array>; finished: Promise<Ending> } {
    this.register();
    return { body: this.open(), finished: this.#run(first) };
  }

  override end(): void {
    this.#isStopped = true;
    this.#reader?.cancel().catch(() => {});
  }

  protected override leave(): void {
    super.leave();
    this.#reader?.cancel().catch(() => {});
  }

  /** Sends events as the client asks for them. @throws {ClientClosedError} If it has left. */
  async #say(events: readonly Item[], write: (value: unknown) => string = JSON.stringify): Promise<void> {
    for (const event of events) {
      const isNumbered = this.#form.operation === "responses";
      const shown = isNumbered ? { ...event, sequence_number: this.#number++ } : event;
      const name = typeof event.type === "string" ? `event: ${event.type}\n` : "";
      await this.asked();
      if (this.hasLeft) throw new ClientClosedError("Cannot respond: the caller disconnected");
      this.send(encoder.encode(`${name}data: ${write(shown)}\n\n`));
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
    await this.#say(this.#form.toErrors(toStreamError(isObject(error) ? error : {}, response.status)));
    return { status: response.status };
  }

  async #runRounds(first: Response): Promise<Ending> {
    for (let response = first; ; ) {
      const round = await this.#read(response);
      if (this.hasLeft) return { status: 499 };
      if (this.#isStopped) await this.#say(this.#form.toErrors(stopping));
      // the round has sent its error already
      if (!round || this.#isStopped) return { status: 502 };
      const answer = await this.#rounds.take(round, (events) => this.#say(events));
      if (answer) {
        const { numbers } = round;
        const write = (value: unknown) => numbers?.restore(JSON.stringify(value)) ?? JSON.stringify(value);
        await this.#say(this.#form.closing(answer), write);
        if (this.#form.done !== undefined) this.send(encoder.encode(this.#form.done));
        return { status: response.status };
      }
      response = await askModel(this.#form, true, this.#context);
      if (response.status > 299) return this.#failRound(response);
    }
  }

  /** How it ended. Never rejects. */
  async #run(first: Response): Promise<Ending> {
    let ending: Ending;
    try {
      ending = await this.#runRounds(first);
    } catch (error) {
      const { status, message, type, code } = toGatewayError(error);
      ending = this.hasLeft ? { status: 499 } : { status, error };
      if (!this.hasLeft) await this.#say(this.#form.toErrors({ message, type, code, status })).catch(() => {});
    }
    this.isOver = true;
    this.unregister();
    this.#context.log.responseBody = this.sent;
    this.close();
    return ending;
  }
}

/** The response to a streaming request: the events of its rounds, from the first one on. */
export function streamRounds(form: RoundForm, first: Response, context: CallerContext): Reply {
  context.log.stream = true;
  const headers = { ...headersOf(first), "content-type": "text/event-stream; charset=utf-8" };
  return { status: first.status, headers, ...new RoundStream(form, context).start(first) };
}
