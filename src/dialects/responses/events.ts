import type { ResponsesRequest, ResponsesResponse } from "../../schemas/responses.ts";
import { readChat, toFinish } from "../chat-reader.ts";
import { Sequencer } from "../sequence.ts";
import type { DialectEvent, DialectOptions, EventMapper, StreamError } from "../types.ts";
import { ItemWriter } from "./item-writer.ts";
import { type ResponseState, toErrorCode, toResponse } from "./response.ts";
import { readTools } from "./tools.ts";

/** Builds a response from the pieces of a chat completion. */
export class ResponseMaker {
  readonly #request: ResponsesRequest;
  readonly #options: DialectOptions;
  readonly #writer: ItemWriter;
  readonly #sequencer: Sequencer<DialectEvent>;
  #model: string;
  #isStarted = false;
  #finish: string | undefined;

  constructor(request: ResponsesRequest, options: DialectOptions) {
    this.#request = request;
    this.#options = options;
    this.#model = request.model;
    this.#writer = new ItemWriter(options.id, readTools(request).own);
    this.#sequencer = new Sequencer(this.#writer);
  }

  /** Adds a chunk or a whole completion. */
  push(chunk: unknown): DialectEvent[] {
    const { model, finish, pieces } = readChat(chunk);
    this.#finish = finish ?? this.#finish;
    return [...this.#start(model), ...pieces.flatMap((piece) => this.#sequencer.push(piece))];
  }

  /** Completes the response. */
  end(usage: unknown): { events: DialectEvent[]; response: ResponsesResponse } {
    const started = this.#start(undefined);
    const writer = this.#writer;
    const isCut = ["length", "content_filter"].includes(toFinish(this.#finish, false));
    writer.ending = isCut ? "incomplete" : "completed";
    const ended = [...this.#sequencer.end(), ...writer.finish()];
    const finish = toFinish(this.#finish, writer.hasCalls);
    const response = this.#toResponse({ kind: "ended", finish, output: writer.output, usage });
    this.#options.keep?.(response);
    const last = { type: `response.${response.status}`, response };
    return { events: [...started, ...ended, last], response };
  }

  /** Ends a response that failed. */
  fail(error: StreamError): DialectEvent[] {
    const writer = this.#writer;
    writer.ending = "incomplete";
    const ended = [...this.#start(undefined), ...this.#sequencer.abandon(), ...writer.finish()];
    const response = this.#toResponse({ kind: "failed", error, output: writer.output });
    const { message } = error;
    return [
      ...ended,
      { type: "error", code: toErrorCode(error), message, param: null },
      { type: "response.failed", response },
    ];
  }

  #start(model: string | undefined): DialectEvent[] {
    if (this.#isStarted) return [];
    this.#isStarted = true;
    this.#model = model ?? this.#model;
    const response = this.#toResponse({ kind: "in_progress" });
    return [
      { type: "response.created", response },
      { type: "response.in_progress", response },
    ];
  }

  #toResponse(state: ResponseState): ResponsesResponse {
    return toResponse(this.#request, this.#model, state, this.#options);
  }
}

/** Numbers events from 0. */
export function createNumbering(): (events: readonly DialectEvent[]) => DialectEvent[] {
  let next = 0;
  return (events) => events.map(({ type, ...members }) => ({ type, sequence_number: next++, ...members }));
}

/** Turns chat chunks into events of the Responses API (https://platform.openai.com/docs/api-reference/responses-streaming). */
export function createEvents(request: ResponsesRequest, options: DialectOptions): EventMapper {
  const maker = new ResponseMaker(request, options);
  const number = createNumbering();
  return {
    push: (chunk) => number(maker.push(chunk)),
    end: (usage) => number(maker.end(usage).events),
    fail: (error) => number(maker.fail(error)),
  };
}
