/** What a client of a stream of events gets while nothing else is sent. */
export type KeepAliveForm = "comment" | "ping";

const encoder = new TextEncoder();

const forms: Readonly<Record<KeepAliveForm, Uint8Array>> = {
  // clients ignore comments (WHATWG HTML, section 9.2.6)
  comment: encoder.encode(": keep-alive\n\n"),
  // https://platform.claude.com/docs/en/build-with-claude/streaming#ping-events
  ping: encoder.encode('event: ping\ndata: {"type": "ping"}\n\n'),
};

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
/** Last bytes of a stream that holds nothing yet. */
const blankLine = (lineFeed << 8) | lineFeed;

/**
 * Whether a stream ends with a blank line. A single carriage return at its end may be the first half of a line end.
 *
 * @param tail Its last bytes, the last one lowest.
 */
function endsWithBlankLine(tail: number): boolean {
  const [last, before, third] = [tail & 0xff, (tail >>> 8) & 0xff, (tail >>> 16) & 0xff];
  if (last === carriageReturn) return before === carriageReturn;
  if (last !== lineFeed) return false;
  return before === lineFeed || (before === carriageReturn && third === lineFeed);
}

/**
 * Decides when a stream of server-sent events gets something that keeps its connection open. That is never inside an
 * event, however the bytes of the stream are cut.
 */
export class KeepAlive {
  readonly #everyMs: number;
  readonly #form: KeepAliveForm;
  #lastSentAt: number;
  #tail = blankLine;

  /**
   * @param everyMs Time without data, in milliseconds; 0 for never.
   * @param now Monotonic milliseconds.
   */
  constructor(everyMs: number, now: number, form: KeepAliveForm = "comment") {
    this.#everyMs = everyMs;
    this.#form = form;
    this.#lastSentAt = now;
  }

  /** Notes what is sent at a monotonic time. */
  note(bytes: Uint8Array, now: number): void {
    this.#lastSentAt = now;
    for (let index = Math.max(0, bytes.length - 3); index < bytes.length; index++) {
      this.#tail = ((this.#tail << 8) | (bytes[index] ?? 0)) & 0xffffff;
    }
  }

  /** What to send now, and notes that; undefined while data came recently or an event is incomplete. */
  take(now: number): Uint8Array | undefined {
    if (this.#everyMs === 0 || now - this.#lastSentAt < this.#everyMs) return undefined;
    if (!endsWithBlankLine(this.#tail)) return undefined;
    this.#lastSentAt = now;
    return forms[this.#form];
  }
}
