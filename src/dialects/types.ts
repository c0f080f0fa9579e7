import type { ChatRequest, ChatResponse } from "../schemas/chat.ts";

/** What a dialect may know besides the request. */
export interface DialectOptions {
  /** Identifies the answer; each kind puts its own prefix before it. */
  id: string;
  /** Time of the answer in seconds of Unix time. */
  created: number;
  /** The present time in seconds of Unix time. */
  now(): number;
  /** Messages go by way of a provider's Responses API where it has one. */
  readonly overResponses?: boolean;
  /** Takes a whole answer that may be asked for again. */
  keep?(answer: object): void;
  /** Notes a member that has no counterpart in a chat; it is told to the caller and kept with the log row. */
  drop(member: string): void;
}

/** An event of a stream before it is written. */
export type DialectEvent = Readonly<Record<string, unknown>>;

/** What an error says in a stream. */
export interface StreamError {
  message: string;
  type: string;
  code: string | null;
  /** The member of the request at fault. */
  param?: string | null;
  /** The status an answer with this error would have; absent where nobody knows it. */
  status?: number;
}

/** Turns the chunks of a chat's answer into the events of another API. Its state is in its closure. */
export interface EventMapper {
  /** Events one chunk makes, in order. */
  push(chunk: unknown): readonly DialectEvent[];
  /** Events that are owed after a whole answer; `usage` is what the upstream told, in the gateway's shape. */
  end(usage: unknown): readonly DialectEvent[];
  /** Events that tell of a failure; nothing follows them. */
  fail(error: StreamError): readonly DialectEvent[];
}

/** Another API over chat: pure in both directions. */
export interface Dialect<Request extends object, Answer extends object> {
  /**
   * The chat that asks for the same; leaves its argument unchanged.
   *
   * @throws {InvalidRequestError} If the answer would not be what was asked.
   */
  toChat(request: Request, options: DialectOptions): ChatRequest;
  /** The answer from the chat's. */
  fromChat(answer: ChatResponse, request: Request, options: DialectOptions): Answer;
  /** What turns the chat's stream into this API's. */
  createEvents(request: Request, options: DialectOptions): EventMapper;
  /** Text of an event on the wire. */
  encode(event: DialectEvent): string;
}
