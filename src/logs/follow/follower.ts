import type { LogScope } from "../../db/stores/log-scope.ts";
import type { GatewayError } from "../../errors.ts";
import { toErrorReply } from "../../errors.ts";
import type { Mac } from "../../lib/hash.ts";
import { writeCursor } from "./cursor.ts";
import type { TailFilter, TailPosition, TailRow } from "./page.ts";

/** Bytes that may wait for a reader, and one page besides: what follows is read from the database again. */
const maxWaiting = 64 * 1024;

const encoder = new TextEncoder();

/** A tenant as one string. */
export const scopeKey = ({ organisationId, workspaceId }: LogScope): string =>
  JSON.stringify([organisationId, workspaceId]);

/** A position without a row, so that a reader that got none can resume. It also keeps the connection alive. */
export async function writePosition(position: TailPosition, scope: LogScope, mac: Mac): Promise<Uint8Array> {
  return encoder.encode(`: heartbeat\nid: ${await writeCursor(position, scope, mac)}\n\n`);
}

/** A row as an event. */
export interface WrittenRow extends TailPosition {
  readonly event: Uint8Array;
}

/** A filter, and who wants the same rows. */
interface Wanting {
  readonly filter: LogScope;
}

/** The events of rows, by those who want them: readers of the same tenant share the event of a row. */
export async function writeEvents<Reader extends Wanting>(
  rows: readonly TailRow[],
  readers: readonly Reader[],
  mac: Mac,
): Promise<Map<Reader, WrittenRow[]>> {
  const events = new Map<Reader, WrittenRow[]>(readers.map((reader) => [reader, []]));
  for (const { seq, index, text, filters } of rows) {
    const perTenant = new Map<string, WrittenRow>();
    for (const place of filters) {
      const reader = readers[place];
      if (!reader) continue;
      const tenant = scopeKey(reader.filter);
      let written = perTenant.get(tenant);
      if (!written) {
        const id = await writeCursor({ seq, index }, reader.filter, mac);
        written = { seq, index, event: encoder.encode(`id: ${id}\nevent: log\ndata: ${text}\n\n`) };
        perTenant.set(tenant, written);
      }
      events.get(reader)?.push(written);
    }
  }
  return events;
}

/** One who follows the log: what it wants, how far it has read, and the stream it reads. */
export class Follower {
  filter: TailFilter;
  /** Rows up to here are in its stream, or were not wanted. */
  position: TailPosition;
  /** It gets each page that is read for all; otherwise pages are read again for it. */
  isLive = false;
  isEnded = false;
  /** Its rights are being looked at. */
  isChecking = false;
  readonly stream: ReadableStream<Uint8Array>;
  /** What it wants now. */
  readonly check: () => Promise<TailFilter>;
  /** Something was sent since the last heartbeat. */
  #isFresh = true;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  /**
   * @param start `first` is sent first. `check` reads again what the caller may see, and throws if it may not follow.
   * @param onRoom Called when its stream takes more.
   * @param onLeave Called when its reader leaves.
   */
  constructor(
    start: { filter: TailFilter; position: TailPosition; first: Uint8Array; check(): Promise<TailFilter> },
    events: { onRoom(): void; onLeave(follower: Follower): void },
  ) {
    this.filter = start.filter;
    this.position = start.position;
    this.check = start.check;
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
          controller.enqueue(start.first);
        },
        pull: () => {
          if (!this.isLive) events.onRoom();
        },
        cancel: () => {
          this.isEnded = true;
          events.onLeave(this);
        },
      },
      { highWaterMark: maxWaiting, size: ({ length }) => length },
    );
  }

  /** Whether its reader keeps up. */
  get hasRoom(): boolean {
    return !this.isEnded && (this.#controller?.desiredSize ?? 0) > 0;
  }

  /** Sends rows, and moves behind the page they are of. */
  take(rows: readonly WrittenRow[], end: TailPosition): void {
    for (const { event } of rows) this.send(event);
    this.position = end;
  }

  send(bytes: Uint8Array): void {
    if (this.isEnded || bytes.length === 0) return;
    this.#isFresh = true;
    this.#controller?.enqueue(bytes);
  }

  /** Sends a heartbeat if nothing else was sent since the last one, and the reader keeps up. */
  async beat(mac: Mac): Promise<void> {
    const { position } = this;
    const isQuiet = !this.#isFresh && this.hasRoom;
    this.#isFresh = false;
    if (!isQuiet) return;
    const bytes = await writePosition(position, this.filter, mac);
    // rows that were sent meanwhile lie behind it
    if (this.position === position) this.send(bytes);
  }

  /** Ends the stream, with an event if there is a reason. */
  end(error?: GatewayError): void {
    if (this.isEnded) return;
    if (error) this.send(encoder.encode(`event: error\ndata: ${String(toErrorReply(error).body)}\n\n`));
    this.isEnded = true;
    this.#controller?.close();
  }
}
