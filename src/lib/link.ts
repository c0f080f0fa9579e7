import { joinBytes } from "./bytes.ts";
import { encodeFrame, FrameReader } from "./frames.ts";

/** What a message brings. Both sides run the same program, so the receiver knows the type by the kind of the message. */
interface Message {
  readonly value: unknown;
  readonly bytes: Uint8Array;
}

/** Answers the messages of one kind. A message that was not asked gets no answer. */
export type Answer = (message: Message) => unknown;

/** What carries the bytes of a link. */
interface Carrier {
  write(bytes: Uint8Array): void;
  /** Ends the connection. */
  end(): void;
  /** Calls back behind what else this turn of the event loop does. Absent: in a microtask. */
  soon?(flush: () => void): void;
}

/** The other side has ended, or never answered. */
export class LinkClosedError extends Error {
  override readonly name = "LinkClosedError";
  constructor() {
    super("Cannot reach another process of this gateway: its connection has ended");
  }
}

interface Asked {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Kinds of answers. */
const answered = "=";
const failed = "!";

/** Messages and answers over one connection between two processes. What is sent in one turn goes out together. */
export class Link {
  readonly #carrier: Carrier;
  readonly #answers: ReadonlyMap<string, Answer>;
  readonly #reader = new FrameReader();
  readonly #asked = new Map<number, Asked>();
  readonly #whenClosed: (() => void)[] = [];
  #serial = 0;
  #waiting: Uint8Array[] = [];
  #isClosed = false;

  constructor(carrier: Carrier, answers: Readonly<Record<string, Answer>>) {
    this.#carrier = carrier;
    this.#answers = new Map(Object.entries(answers));
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Sends a message that gets no answer. */
  tell(kind: string, value: unknown, bytes?: Uint8Array): void {
    this.#send([kind, 0, value], bytes);
  }

  /**
   * Sends a message and waits for its answer.
   *
   * @throws {LinkClosedError} If the connection ends before.
   */
  ask<Value>(kind: string, value: unknown, bytes?: Uint8Array): Promise<Value> {
    if (this.#isClosed) return Promise.reject(new LinkClosedError());
    return new Promise<Value>((resolve, reject) => {
      const id = ++this.#serial;
      // the kind of a message decides the type of its answer
      this.#asked.set(id, { resolve: (answer) => resolve(answer as Value), reject });
      this.#send([kind, id, value], bytes);
    });
  }

  /** Calls back once, when the connection has ended. */
  onClose(listener: () => void): void {
    if (this.#isClosed) listener();
    else this.#whenClosed.push(listener);
  }

  /** Takes bytes of the other side. */
  receive(piece: Uint8Array): void {
    try {
      for (const { head, bytes } of this.#reader.push(piece)) this.#take(head, bytes);
    } catch {
      this.close();
    }
  }

  /** Ends the connection, or notes that it has ended. */
  close(): void {
    if (this.#isClosed) return;
    this.#flush();
    this.#isClosed = true;
    this.#carrier.end();
    const asked = [...this.#asked.values()];
    this.#asked.clear();
    for (const { reject } of asked) reject(new LinkClosedError());
    for (const listener of this.#whenClosed.splice(0)) listener();
  }

  #send(head: readonly [kind: string, id: number, value: unknown], bytes: Uint8Array | undefined): void {
    if (this.#isClosed) return;
    const frame = encodeFrame(head, bytes);
    if (this.#waiting.push(frame) > 1) return;
    if (this.#carrier.soon) this.#carrier.soon(() => this.#flush());
    else queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    const [only, ...others] = this.#waiting;
    if (only === undefined || this.#isClosed) return;
    const whole = others.length === 0 ? only : joinBytes(this.#waiting);
    this.#waiting = [];
    this.#carrier.write(whole);
  }

  #take(head: unknown, bytes: Uint8Array): void {
    if (!Array.isArray(head)) throw new TypeError("Cannot read a message: it is not of this protocol");
    const [kind, id, value]: unknown[] = head;
    if (kind === answered || kind === failed) this.#settle(kind, Number(id), value);
    else this.#answer(String(kind), Number(id), { value, bytes });
  }

  #settle(kind: string, id: number, value: unknown): void {
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    if (kind === answered) asked?.resolve(value);
    else asked?.reject(new Error(String(value)));
  }

  #answer(kind: string, id: number, message: Message): void {
    const fail = (error: unknown) => {
      if (id !== 0) this.#send([failed, id, error instanceof Error ? error.message : String(error)], undefined);
    };
    const reply = (value: unknown) => {
      if (id !== 0) this.#send([answered, id, value ?? null], undefined);
    };
    try {
      const answer = this.#answers.get(kind);
      if (!answer) throw new Error(`Cannot answer "${kind}": it is not known`);
      const value = answer(message);
      if (value instanceof Promise) value.then(reply, fail);
      else reply(value);
    } catch (error) {
      fail(error);
    }
  }
}
