import type { CallerContext } from "../../context.ts";
import { isJsonType } from "../../endpoint/body.ts";
import { toGatewayError } from "../../errors.ts";
import type { Ending, Reply } from "../../lib/reply.ts";
import type { BodyPieces } from "../../logs/body.ts";
import { AbortReason } from "../../providers/core/call.ts";
import type { Attempt } from "../../upstream/attempt.ts";
import { PulledStream } from "../../upstream/client-stream.ts";
import { toAttemptError } from "../call/attempt.ts";

/** Whether bytes of this content type are readable in a log. */
export function isText(type: string | null | undefined, coding: string | null | undefined): boolean {
  if (!type || (coding && coding !== "identity")) return false;
  return isJsonType(type) || /^text\//i.test(type);
}

/** Whether something can be sent between the bytes of a response: events of a text whose length is not announced. */
function takesKeepAlive(headers: Readonly<Record<string, string>>): boolean {
  const coding = headers["content-encoding"] ?? "identity";
  const isOpen = headers["content-length"] === undefined && coding === "identity";
  return isOpen && /^text\/event-stream(?:;|$)/i.test(headers["content-type"] ?? "");
}

/** Reads a response while it is forwarded. */
export interface ForwardReader {
  /** Sees each piece. */
  push(bytes: Uint8Array): void;
  /**
   * Records what was read, at the end.
   *
   * @param sent First bytes of the text.
   * @returns A promise only where that takes long: else the request ends together with its response.
   */
  end(sent: BodyPieces, isCut: boolean): Promise<void> | undefined;
}

/** The call of a response, for its log row. */
interface ForwardFacts {
  attempt: Attempt;
  /** Slug of the provider. */
  provider: string;
  /** Whether the first bytes are logged. */
  logsText: boolean;
  /** Reads a text that is logged. */
  reader?: ForwardReader | undefined;
}

/** A response to forward. */
interface ForwardedResponse {
  status: number;
  headers: Record<string, string>;
  body: ReadableStream<Uint8Array>;
}

/** Moves the bytes of an upstream to a client, within idle and total time. */
class ByteRelay extends PulledStream {
  readonly #response: ForwardedResponse;
  readonly #facts: ForwardFacts;
  readonly #context: CallerContext;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #finished = Promise.withResolvers<Ending>();

  constructor(response: ForwardedResponse, facts: ForwardFacts, context: CallerContext) {
    super(context.services, takesKeepAlive(response.headers) ? "comment" : undefined);
    this.#response = response;
    this.#facts = facts;
    this.#context = context;
    this.#reader = response.body.getReader();
  }

  start(): Reply {
    const { status, headers } = this.#response;
    const { signal } = this.#facts.attempt;
    this.register();
    const body = this.open();
    // a caller that reads nothing has no pending read for the abort to end
    signal.addEventListener("abort", () => this.fail(signal.reason), { once: true });
    return { status, headers, body, finished: this.#finished.promise };
  }

  /** A client that pauses has the idle time of its upstream. */
  protected override isStalled(): boolean {
    return false;
  }

  protected override expire(now: number): boolean {
    const { streamIdleTimeoutMs, streamTotalTimeoutMs } = this.#context.services.limits;
    if (now - this.lastReadAt <= streamIdleTimeoutMs && now - this.startedAt <= streamTotalTimeoutMs) return false;
    this.#facts.attempt.abort(new AbortReason("idle", "Cannot finish the response: it was idle or took too long"));
    return true;
  }

  override end(): void {
    const reason = new AbortReason("shutdown", "Cannot finish the response: the gateway is stopping");
    this.#facts.attempt.abort(reason);
  }

  protected override async step(): Promise<boolean> {
    const { done, value } = await this.#reader.read();
    if (this.isOver) return true;
    this.lastReadAt = this.now();
    if (done) {
      void this.#over(undefined, false);
      // the request is settled before its response ends: a client that saw the end was counted
      await Promise.resolve();
      this.close();
      return true;
    }
    const { logsText, reader } = this.#facts;
    if (logsText) this.sent.add(value);
    reader?.push(value);
    this.write(value);
    return true;
  }

  protected override fail(error: unknown): void {
    if (this.isOver) return;
    const { reason } = this.#facts.attempt.signal;
    this.#reader.cancel(error).catch(() => {});
    void this.#over(error, reason instanceof AbortReason && reason.kind === "client");
    // the connection breaks off, as the upstream's did: a clean end would look like a complete response
    this.breakOff(error);
  }

  protected override leave(reason: unknown): void {
    this.hasLeft = true;
    // its listener ends the stream
    this.#facts.attempt.abort(new AbortReason("client", "the caller disconnected"));
    void this.#over(reason, true);
    this.#reader.cancel(reason).catch(() => {});
  }

  /** Records the end, once. */
  async #over(failure: unknown, hasLeft: boolean): Promise<void> {
    if (this.isOver) return;
    this.isOver = true;
    this.unregister();
    const { attempt, provider, logsText, reader } = this.#facts;
    attempt.release();
    attempt.end();
    const error = failure === undefined ? undefined : toAttemptError(failure, attempt, provider);
    const status = hasLeft ? 499 : error ? toGatewayError(error).status : this.#response.status;
    this.#context.log.responseBody = logsText ? this.sent : null;
    const recording = reader?.end(this.sent, status !== this.#response.status);
    if (recording) await recording;
    this.#finished.resolve({ status, error });
  }
}

/** A response that is forwarded unchanged; its log row is written when it ends. */
export function forwardBody(response: ForwardedResponse, facts: ForwardFacts, context: CallerContext): Reply {
  return new ByteRelay(response, facts, context).start();
}
