import type { SocketClose, SocketMessage } from "../../../packages/websocket-frames/src/frames.ts";
import type { RunningStream } from "../../context.ts";
import type { Clock } from "../../lib/clock.ts";
import { type SocketEnd, toSendableClose } from "../../lib/websocket.ts";
import { clientStallMs } from "../../upstream/client-stream.ts";

/** Who ended a relay. */
type RelaySide = "client" | "upstream" | "gateway";

/** How a relay ended. */
export interface RelayEnd {
  by: RelaySide;
  /** As it was received, or as the gateway sent it. */
  close: SocketClose;
}

/** Why a relay must end. */
export interface RelayStop {
  close: SocketClose;
  /** What the client receives before. */
  event?: string;
}

/** What becomes of a message that was checked. */
export interface Screened {
  /** What is sent on: the message, others that waited, or none. */
  pass: readonly SocketMessage[];
  /** What its sender gets back. */
  back?: string;
  /** The relay ends. */
  stop?: RelayStop;
}

/** Checks the messages of both sides before they are sent on. */
export interface SessionScreen {
  client(message: SocketMessage): Promise<Screened>;
  upstream(message: SocketMessage): Promise<Screened>;
  /** What still waits of the upstream's messages, which has closed. */
  finish(): Promise<Screened>;
}

/** Limits of a relay. Times in milliseconds. */
interface RelayLimits {
  /** Largest message, in bytes. */
  maxMessageBytes: number;
  /** Idle time in both directions. */
  idleTimeoutMs: number;
  /** From its start to its end. */
  totalTimeoutMs: number;
}

/** What a relay is made from. */
interface RelayOptions {
  client: SocketEnd;
  upstream: SocketEnd;
  limits: RelayLimits;
  clock: Clock;
  /** Where it is registered while it runs. */
  streams: Set<RunningStream>;
  /** Observes what the upstream sends. */
  note(message: SocketMessage): void;
  /** Absent: messages are sent on unchecked. */
  screen?: SessionScreen | undefined;
  /** Called once, with the first close. */
  ended(end: RelayEnd): void;
  /** Called twice a minute: undefined while the caller may continue. */
  check(): Promise<RelayStop | undefined>;
}

/** Buffered bytes above which the other side is paused, and below which it is read again. */
const highWaterBytes = 256 * 1024;
const lowWaterBytes = 64 * 1024;
/** Buffered bytes at which the relay ends, for a side whose peer cannot be paused. */
const maxWaitingBytes = 8 * 1024 * 1024;
/** How often both sides are pinged, and the caller's key is checked. */
const pingMs = 30_000;
/** Time both sides get to close. */
const closeMs = 1_000;

const tooSlow: SocketClose = { code: 1011, reason: "one side reads too slowly" };

/** One direction of a relay: how much is buffered, and since when nothing of it was sent. */
class Direction {
  readonly from: SocketEnd;
  readonly to: SocketEnd;
  #isHeld = false;
  #waiting = 0;
  #movedAt = 0;

  constructor(from: SocketEnd, to: SocketEnd) {
    this.from = from;
    this.to = to;
  }

  /** Forwards a message; false when too much is buffered already. */
  send(message: SocketMessage, now: number): boolean {
    this.to.send(message);
    const waiting = this.to.bufferedBytes;
    if (waiting <= highWaterBytes) return true;
    if (!this.#isHeld) {
      this.#isHeld = true;
      this.#movedAt = now;
      this.#waiting = waiting;
      this.from.pause();
    }
    return waiting <= maxWaitingBytes;
  }

  /** Reading is paused. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Resumes reading when enough was sent. */
  drained(): void {
    if (!this.#isHeld || this.to.bufferedBytes > lowWaterBytes) return;
    this.#isHeld = false;
    this.from.resume();
  }

  /** Whether the buffer has not shrunk for too long. */
  isStalled(now: number): boolean {
    if (!this.#isHeld) return false;
    const waiting = this.to.bufferedBytes;
    if (waiting < this.#waiting) this.#movedAt = now;
    this.#waiting = waiting;
    this.drained();
    return this.#isHeld && now - this.#movedAt > clientStallMs;
  }
}

/** Messages of one side that are checked one after the other. */
interface Backlog {
  readonly waiting: SocketMessage[];
  bytes: number;
  /** The checks that go on. */
  checking: Promise<void> | undefined;
  /** So much waits that its sender is paused. */
  isPaused: boolean;
}

const emptyBacklog = (): Backlog => ({ waiting: [], bytes: 0, checking: undefined, isPaused: false });

/** Connects two WebSockets: messages of one are sent to the other unchanged, until one of them closes. */
class SocketRelay implements RunningStream {
  readonly #options: RelayOptions;
  readonly #directions: { client: Direction; upstream: Direction };
  readonly #startedAt: number;
  readonly #open = new Set<"client" | "upstream">(["client", "upstream"]);
  readonly #backlogs = { client: emptyBacklog(), upstream: emptyBacklog() };
  #heardAt: number;
  #probedAt: number;
  #isEnded = false;

  constructor(options: RelayOptions) {
    this.#options = options;
    const { client, upstream } = options;
    this.#directions = { client: new Direction(client, upstream), upstream: new Direction(upstream, client) };
    this.#startedAt = options.clock.monotonic();
    this.#heardAt = this.#startedAt;
    this.#probedAt = this.#startedAt;
  }

  start(): void {
    this.#options.streams.add(this);
    this.#listen("client");
    this.#listen("upstream");
  }

  tick(now: number): void {
    if (this.#isEnded) return;
    const excess = this.#findExceededLimit(now);
    if (excess) this.#shut(excess);
    else if (now - this.#probedAt >= pingMs) this.#ping(now);
  }

  /** The limit of the relay that was exceeded. */
  #findExceededLimit(now: number): SocketClose | undefined {
    const { limits } = this.#options;
    const { client: sent, upstream: received } = this.#directions;
    if (now - this.#heardAt > limits.idleTimeoutMs) return { code: 1001, reason: "the session was idle for too long" };
    if (now - this.#startedAt > limits.totalTimeoutMs) return { code: 1001, reason: "the session took too long" };
    return sent.isStalled(now) || received.isStalled(now) ? tooSlow : undefined;
  }

  #ping(now: number): void {
    const { client, upstream } = this.#options;
    this.#probedAt = now;
    client.probe?.();
    upstream.probe?.();
    this.#checkCaller().catch(() => {}); // a check that cannot be made now is repeated later
  }

  end(): void {
    this.#shut({ code: 1001, reason: "the gateway is stopping" });
  }

  #listen(side: "client" | "upstream"): void {
    const from = this.#options[side];
    const other = side === "client" ? "upstream" : "client";
    from.listen({
      message: (message) => this.#forward(side, message),
      drain: () => this.#directions[other].drained(),
      close: (close) => {
        this.#open.delete(side);
        if (side === "upstream" && this.#options.screen && !this.#isEnded) void this.#finishScreened(close);
        else this.#close(side, close);
      },
    });
  }

  /** One side has closed. */
  #close(side: "client" | "upstream", close: SocketClose): void {
    this.#finish({ by: side, close });
    this.#options[side === "client" ? "upstream" : "client"].close(toSendableClose(close));
    this.#forgetIfOver();
  }

  /** The upstream has closed: what was checked of its messages is still sent. */
  async #finishScreened(close: SocketClose): Promise<void> {
    const backlog = this.#backlogs.upstream;
    while (backlog.checking) await backlog.checking;
    const rest = await this.#options.screen?.finish().catch(() => undefined);
    if (rest) this.#deliver("upstream", rest);
    this.#close("upstream", close);
  }

  #forward(side: "client" | "upstream", message: SocketMessage): void {
    if (this.#isEnded) return;
    const { limits, clock, note } = this.#options;
    const now = clock.monotonic();
    this.#heardAt = now;
    if (message.length > limits.maxMessageBytes) this.#shut({ code: 1009, reason: "a message is too large" });
    else {
      if (side === "upstream") note(message);
      if (this.#options.screen) this.#screen(side, message);
      else if (!this.#directions[side].send(message, now)) this.#shut(tooSlow);
    }
  }

  /** Checks a message, after those that came before it. */
  #screen(side: "client" | "upstream", message: SocketMessage): void {
    const backlog = this.#backlogs[side];
    backlog.waiting.push(message);
    backlog.bytes += message.length;
    if (backlog.bytes > maxWaitingBytes) this.#shut(tooSlow);
    else if (backlog.bytes > highWaterBytes && !backlog.isPaused) {
      backlog.isPaused = true;
      this.#options[side].pause();
    }
    backlog.checking ??= this.#checkWaiting(side);
  }

  async #checkWaiting(side: "client" | "upstream"): Promise<void> {
    const backlog = this.#backlogs[side];
    const { screen } = this.#options;
    try {
      for (let next = backlog.waiting.shift(); screen && next !== undefined; next = backlog.waiting.shift()) {
        if (this.#isEnded) break;
        this.#deliver(side, await screen[side](next));
        backlog.bytes -= next.length;
      }
    } catch {
      this.#shut({ code: 1011, reason: "a message could not be checked" });
    }
    backlog.checking = undefined;
    if (!backlog.isPaused) return;
    backlog.isPaused = false;
    if (!this.#directions[side].isHeld) this.#options[side].resume();
  }

  #deliver(side: "client" | "upstream", { pass, back, stop }: Screened): void {
    if (this.#isEnded) return;
    const now = this.#options.clock.monotonic();
    if (back !== undefined) this.#options[side].send(back);
    for (const message of pass) if (!this.#directions[side].send(message, now)) this.#shut(tooSlow);
    if (stop && !this.#isEnded) this.#stop(stop);
  }

  #stop({ event, close }: RelayStop): void {
    if (event !== undefined) this.#options.client.send(event);
    this.#shut(close);
  }

  async #checkCaller(): Promise<void> {
    const stop = await this.#options.check();
    if (stop && !this.#isEnded) this.#stop(stop);
  }

  #shut(close: SocketClose): void {
    if (this.#isEnded) return;
    this.#finish({ by: "gateway", close });
    this.#options.client.close(close);
    this.#options.upstream.close(close);
  }

  /** Ends the relay: reports how it ended, once, and gives both sides a second to close. */
  #finish(end: RelayEnd): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#options.ended(end);
    setTimeout(() => {
      for (const side of this.#open) this.#options[side].terminate();
      this.#open.clear();
      this.#forgetIfOver();
    }, closeMs);
  }

  #forgetIfOver(): void {
    if (this.#open.size === 0) this.#options.streams.delete(this);
  }
}

/**
 * Relays between two WebSockets until one of them closes, then closes the other with the same code and reason. A side
 * is paused while more than 256 KiB wait for the other, if its host can pause it; if not, the relay ends once 8 MiB
 * wait.
 */
export function relaySockets(options: RelayOptions): void {
  new SocketRelay(options).start();
}
