import assert from "node:assert/strict";
import type { Gateway } from "../../src/gateway.ts";
import { type ShownLog, workspaceKey } from "./gateway.ts";

/** One event of the tail, or with an empty name a block that only has an id. */
export interface TailEvent {
  name: string;
  id: string;
  data: string;
}

/** A reader of the tail. */
export interface TailReading {
  response: Response;
  /** Id of the last event or position that was read. */
  lastId(): string;
  /** The next event; undefined at the end. Waits for at most ten seconds. */
  next(): Promise<TailEvent | undefined>;
  /** The next rows. */
  take(count: number): Promise<ShownLog[]>;
  close(): Promise<void>;
}

function readBlock(block: string): TailEvent {
  const event: TailEvent = { name: "", id: "", data: "" };
  for (const line of block.split("\n")) {
    const [, field, value = ""] = /^(id|event|data): (.*)$/.exec(line) ?? [];
    if (field === "id") event.id = value;
    if (field === "event") event.name = value;
    if (field === "data") event.data = value;
  }
  return event;
}

/** Events of a body, read one after the other. */
export function readTail(response: Response): TailReading {
  assert.ok(response.body);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let lastId = "";
  const nextBlock = async (): Promise<string | undefined> => {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end >= 0) {
        const block = text.slice(0, end);
        text = text.slice(end + 2);
        return block;
      }
      const { promise: late, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => reject(new Error("Waited ten seconds for an event")), 10_000);
      const { done, value } = await Promise.race([reader.read(), late]).finally(() => clearTimeout(timer));
      if (done) return undefined;
      text += decoder.decode(value, { stream: true });
    }
  };
  const next = async (): Promise<TailEvent | undefined> => {
    for (;;) {
      const block = await nextBlock();
      if (block === undefined) return undefined;
      const event = readBlock(block);
      if (event.id !== "") lastId = event.id;
      if (event.name !== "") return event;
    }
  };
  return {
    response,
    lastId: () => lastId,
    next,
    async take(count) {
      const rows: ShownLog[] = [];
      while (rows.length < count) {
        const event = await next();
        assert.equal(event?.name, "log", `${rows.length} of ${count} rows, then ${JSON.stringify(event)}`);
        rows.push(JSON.parse(event?.data ?? ""));
      }
      return rows;
    },
    close: () => reader.cancel(),
  };
}

/** Follows the log by a key. */
export async function followLog(
  { gateway }: { gateway: Gateway },
  query = "",
  { key = workspaceKey, lastId }: { key?: string; lastId?: string } = {},
): Promise<TailReading> {
  const headers = new Headers({ "x-gateway-api-key": key });
  if (lastId !== undefined) headers.set("last-event-id", lastId);
  const response = await gateway.fetch(new Request(`http://gateway.test/v1/logs/tail?${query}`, { headers }));
  if (response.status !== 200) assert.fail(`${response.status} ${await response.text()}`);
  return readTail(response);
}
