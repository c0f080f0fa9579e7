import type { RunningStream, Services } from "../context.ts";
import { KeepAlive, type KeepAliveForm } from "../lib/keep-alive.ts";
import { BodyPieces } from "../logs/body.ts";

/** A client that reads nothing for this long is disconnected, in milliseconds. */
export const clientStallMs = 60_000;

/** The stream holds nothing that the client did not ask for. */
const asAsked: QueuingStrategy<Uint8Array> = { highWaterMark: 0 };

/** What a stream needs of the gateway. */
interface StreamServices extends Pick<Services, "clock" | "streams"> {
  readonly limits: Pick<Services["limits"], "streamKeepAliveMs">;
}

/**
 * The client's side of a stream: what it was sent and when, what keeps its connection open, and that it left or reads
 * nothing. What is sent, and where it comes from, is the subclass's.
 */
abstract class ClientStream implements RunningStream {
  /** What was sent, cut at the log's limit. */
  readonly sent = new BodyPieces();
  /** Bytes that were sent. */
  sentBytes = 0;
  /** Monotonic time at which it began, and at which its upstream last sent something, in milliseconds. */
  protected readonly startedAt: number;
  protected lastReadAt: number;
  /** The client disconnected. */
  protected hasLeft = false;
  /** Nothing more is sent. */
  protected isOver = false;
  /** The client waits for bytes. */
  protected isAsking = false;
  readonly #services: StreamServices;
  readonly #keepAlive: KeepAlive;
  #lastSentAt: number;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  /** @param keepAlive What keeps the client's connection open; undefined where nothing can be sent between bytes. */
  constructor(services: StreamServices, keepAlive: KeepAliveForm | undefined) {
    this.#services = services;
    this.startedAt = this.now();
    this.lastReadAt = this.startedAt;
    this.#lastSentAt = this.startedAt;
    this.#keepAlive = new KeepAlive(keepAlive ? services.limits.streamKeepAliveMs : 0, this.startedAt, keepAlive);
  }

  /** The client asks for bytes. */
  protected abstract pull(): Promise<void> | void;
  /** The client disconnected, or reads nothing. */
  protected abstract leave(reason?: unknown): void;
  /** Ends the stream because the gateway stops. */
  abstract end(): void;

  tick(now: number): void {
    if (this.isStalled(now)) {
      this.leave();
      this.breakOff(new Error("the client reads nothing"));
    } else if (!this.expire(now) && this.isAsking && !this.hasLeft) {
      const bytes = this.#keepAlive.take(now);
      if (bytes) this.#controller?.enqueue(bytes);
    }
  }

  /** Ends the stream if its upstream took too long; true if it did. */
  protected expire(_now: number): boolean {
    return false;
  }

  /** Whether the client has read nothing for too long. */
  protected isStalled(now: number): boolean {
    return !this.isAsking && now - this.#lastSentAt > clientStallMs;
  }

  protected now(): number {
    return this.#services.clock.monotonic();
  }

  /** From now on it is ticked, and ended when the gateway stops. */
  protected register(): void {
    this.#lastSentAt = this.now();
    this.#services.streams.add(this);
  }

  /** Ends that. */
  protected unregister(): void {
    this.#services.streams.delete(this);
  }

  /** The stream for the client. */
  protected open(strategy: QueuingStrategy<Uint8Array> = asAsked): ReadableStream<Uint8Array> {
    this.#lastSentAt = this.now();
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.pull(),
        cancel: (reason) => this.leave(reason),
      },
      strategy,
    );
  }

  /** Sends bytes, which the log has too. */
  protected send(bytes: Uint8Array): void {
    this.sent.add(bytes);
    this.sentBytes += bytes.length;
    this.write(bytes);
  }

  /** Sends bytes. */
  protected write(bytes: Uint8Array): void {
    if (!this.hasLeft) this.#controller?.enqueue(bytes);
    this.#lastSentAt = this.now();
    this.#keepAlive.note(bytes, this.#lastSentAt);
  }

  /** Ends the client's stream as a whole one. */
  protected close(): void {
    try {
      this.#controller?.close();
    } catch {
      // the client cancelled in the same turn
    }
  }

  /** Ends the client's stream as one that broke off. */
  protected breakOff(error: unknown): void {
    this.#controller?.error(error);
  }
}

/** A stream to a client for which an upstream is read whenever the client asks. */
export abstract class PulledStream extends ClientStream {
  /** Reads once; true when something was sent or the stream is over. */
  protected abstract step(): Promise<boolean>;
  /** Ends the stream after a step failed. */
  protected abstract fail(cause: unknown): Promise<void> | void;

  protected override async pull(): Promise<void> {
    this.isAsking = true;
    try {
      while (!this.isOver) if ((await this.step()) && !this.hasLeft) return;
    } catch (error) {
      await this.fail(error);
    } finally {
      this.isAsking = false;
    }
  }
}

/** A stream to a client of what comes by itself. */
export abstract class PushedStream extends ClientStream {
  #asked = Promise.withResolvers<void>();

  protected override pull(): void {
    this.isAsking = true;
    this.#asked.resolve();
  }

  /** Resolves once the client asks for bytes, or has left. */
  protected asked(): Promise<void> {
    return this.#asked.promise;
  }

  protected override write(bytes: Uint8Array): void {
    // the client may ask for more while it gets them
    this.isAsking = false;
    this.#asked = Promise.withResolvers();
    super.write(bytes);
  }

  protected override leave(): void {
    this.hasLeft = true;
    this.#asked.resolve();
  }
}
