import { useEffect, useRef, useState } from "react";
import { ApiError, send } from "@/api/client.ts";
import { readEvents } from "@/lib/event-stream.ts";
import { type LogLine, toLine } from "./row.ts";

/** Rows of the tail in memory; older ones fall out. */
const tailRows = 500;
/** Rows are shown in batches, so that a busy gateway does not draw the table for each. */
const showEveryMs = 250;
const reconnectMs = 2000;

export interface Tail {
  /** Newest first. */
  readonly rows: readonly LogLine[];
  /** Rows that arrived while the tail was paused. */
  readonly waiting: number;
  readonly state: "connecting" | "open" | "closed";
  readonly error: unknown;
}

const nothing: Tail = { rows: [], waiting: 0, state: "connecting", error: undefined };

/** Collects rows of one tail and says when there is something new to show. */
class TailBuffer {
  rows: LogLine[] = [];
  waiting: LogLine[] = [];
  arrived = 0;
  lastId: string | undefined;

  add(line: LogLine, isPaused: boolean): void {
    const target = isPaused ? this.waiting : this.rows;
    target.unshift(line);
    if (target.length > tailRows) target.length = tailRows;
    if (isPaused) this.arrived++;
  }

  resume(): void {
    this.rows = [...this.waiting, ...this.rows].slice(0, tailRows);
    this.waiting = [];
    this.arrived = 0;
  }
}

async function follow(
  query: Readonly<Record<string, string>>,
  buffer: TailBuffer,
  { signal, onOpen, onRow }: { signal: AbortSignal; onOpen: () => void; onRow: (line: LogLine) => void },
): Promise<void> {
  const headers: Record<string, string> = { accept: "text/event-stream" };
  if (buffer.lastId !== undefined) headers["last-event-id"] = buffer.lastId;
  const response = await send("GET", "/v1/logs/tail", { query, headers, signal });
  onOpen();
  for await (const { event, data, id } of readEvents(response)) {
    if (id !== undefined) buffer.lastId = id;
    if (event === "error") throw new Error(data ?? "");
    if (event !== "log" || data === undefined) continue;
    onRow(toLine(JSON.parse(data)));
  }
}

/** Follows `GET /v1/logs/tail` while `isOn`; connects again after interruptions and loses no row. */
export function useTail(query: Readonly<Record<string, string>>, isOn: boolean, isPaused: boolean): Tail {
  const [tail, setTail] = useState<Tail>(nothing);
  const paused = useRef(isPaused);
  const buffer = useRef(new TailBuffer());
  paused.current = isPaused;
  const key = JSON.stringify(query);

  useEffect(() => {
    if (isPaused) return;
    buffer.current.resume();
    setTail((before) => ({ ...before, rows: [...buffer.current.rows], waiting: 0 }));
  }, [isPaused]);

  useEffect(() => {
    if (!isOn) return;
    const abort = new AbortController();
    const own = new TailBuffer();
    buffer.current = own;
    setTail(nothing);
    let timer: number | undefined;
    const show = () => {
      timer = undefined;
      setTail((before) => ({ ...before, rows: [...own.rows], waiting: own.arrived }));
    };
    const onRow = (line: LogLine) => {
      own.add(line, paused.current);
      timer ??= window.setTimeout(show, showEveryMs);
    };
    const onOpen = () => setTail((before) => ({ ...before, state: "open", error: undefined }));
    const run = async () => {
      while (!abort.signal.aborted) {
        try {
          await follow(JSON.parse(key), own, { signal: abort.signal, onOpen, onRow });
        } catch (error) {
          if (abort.signal.aborted) return;
          setTail((before) => ({ ...before, state: "closed", error }));
          // what the gateway refuses stays refused; only a lost connection is opened again
          if (error instanceof ApiError && error.status > 0 && error.status < 500 && error.status !== 429) return;
        }
        await new Promise((resolve) => setTimeout(resolve, reconnectMs));
        if (!abort.signal.aborted) setTail((before) => ({ ...before, state: "connecting" }));
      }
    };
    void run();
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
  }, [key, isOn]);
  return tail;
}
