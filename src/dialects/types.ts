import type { ChatRequest, ChatResponse } from "../schemas/chat.ts";

/** Stores a complete response that can be retrieved later. */
export type StoreResponse = (answer: object) => void;

/** Context of a conversion besides the request. */
export interface DialectOptions {
  /** Identifies the response; each API adds a prefix. */
  id: string;
  /** Creation time of the response in Unix seconds. */
  created: number;
  /** The current Unix time in seconds. */
  now(): number;
  /** Use a provider's Responses API for Messages requests where it has one. */
  readonly overResponses?: boolean;
  /** Stores a complete response that can be retrieved later. */
  keep?: StoreResponse;
  /** Records a field without a counterpart in a chat; it is reported to the caller and in the log. */
  drop(member: string): void;
}

/** An event of a stream before serialisation. */
export type DialectEvent = Readonly<Record<string, unknown>>;

/** An error inside a stream. */
export interface StreamError {
  message: string;
  type: string;
  code: string | null;
  /** The request field at fault. */
  param?: string | null;
  /** The status of a response with this error; absent where unknown. */
  status?: number;
}

/** Turns chat chunks into the events of another API. Its state is in its closure. */
export interface EventMapper {
  /** Events for one chunk, in order. */
  push(chunk: unknown): readonly DialectEvent[];
  /** Events at the end of a complete response; `usage` is the upstream's, in the gateway's format. */
  end(usage: unknown): readonly DialectEvent[];
  /** Events of a failure; no events follow them. */
  fail(error: StreamError): readonly DialectEvent[];
}

/** Another API on top of chat: pure in both directions. */
export interface Dialect<Request extends object, Answer extends object> {
  /**
   * The equivalent chat request; does not modify its argument.
   *
   * @throws {InvalidRequestError} If the response would not be what was requested.
   */
  toChat(request: Request, options: DialectOptions): ChatRequest;
  /** The response for a chat completion. */
  fromChat(answer: ChatResponse, request: Request, options: DialectOptions): Answer;
  /** Creates the mapper from a chat's stream to this API's. */
  createEvents(request: Request, options: DialectOptions): EventMapper;
  /** Serialises an event. */
  encode(event: DialectEvent): string;
}
