import { type Link, LinkClosedError } from "../../lib/link.ts";
import type { SteadyLink } from "../../lib/steady-link.ts";
import type { LateHooks } from "../../schemas/logs.ts";
import { packRecords } from "../pack.ts";
import type { Redactor } from "../redact.ts";
import type { SpillState } from "../spill.ts";
import type { LogWriter } from "../writer.ts";
import { type PackedMessage, toMessage } from "./packed-message.ts";
import type { Taken } from "./row-collector.ts";

/** The rows can never be stored. */
export class RefusedRowsError extends Error {
  override readonly name = "RefusedRowsError";
}

/** Rows that are not stored yet. */
interface Sent extends PackedMessage {
  /** The process that knows what its requests used; empty where none does. */
  readonly peer: string;
  resolve(taken: Taken): void;
  reject(error: unknown): void;
}

/** Each write is a message, and none waits for another: what a request left is handed over in the turn in which it ends. */
const mostAtOnce = 100_000;
/** How long rows wait for an owner before their write counts as failed, in milliseconds. */
const patienceMs = 30_000;

/**
 * A log writer that hands its rows to the process that owns the log. They are sent at once, so that a killed process has handed
 * over what its finished requests left, and again where the owner ended before it had stored them.
 */
export function createHandedLog(link: SteadyLink, redactor: Redactor): LogWriter {
  const unstored = new Set<Sent>();
  /** What was sent since the last failure may be stored already. */
  let hasFailed = false;
  const fail = (sent: Sent, error: unknown) => {
    if (!unstored.delete(sent)) return;
    hasFailed = true;
    sent.reject(error);
  };
  const wait = async (sent: Sent) => {
    if (!(await link.within(patienceMs))) fail(sent, new LinkClosedError());
  };
  const send = async (to: Link, sent: Sent, isAgain: boolean) => {
    const { head, bytes, peer, resolve } = sent;
    try {
      const taken = await to.ask<Taken>("rows", [head, isAgain, peer], bytes);
      unstored.delete(sent);
      hasFailed = false;
      resolve(taken);
    } catch (error) {
      // it is sent again when the owner is back
      if (error instanceof LinkClosedError) void wait(sent);
      else fail(sent, error);
    }
  };
  link.greet((to) => {
    for (const sent of unstored) void send(to, sent, true);
  });
  const hand = (message: PackedMessage): Promise<Taken> =>
    new Promise((resolve, reject) => {
      const sent = { ...message, peer: link.peer, resolve, reject };
      unstored.add(sent);
      if (link.current) void send(link.current, sent, hasFailed);
      else void wait(sent);
    });
  const ask = async <Value>(kind: string, otherwise: Value): Promise<Value> =>
    (await link.current?.ask<Value>(kind, null).catch(() => undefined)) ?? otherwise;
  return {
    writesAtOnce: mostAtOnce,
    async append(records) {
      const packed = packRecords(records, redactor);
      const batches = packed instanceof Promise ? await packed : packed;
      const taken = await Promise.all(batches.map((batch) => hand(toMessage(batch))));
      if (taken.includes("refused")) throw new RefusedRowsError("Cannot store log rows: the store rejected them");
      return false;
    },
    // the owner removes and indexes
    purge: async () => false,
    index: async () => false,
    async traceHooks(hooks: readonly LateHooks[]) {
      await link.current?.ask("hooks", hooks);
    },
    metrics: () => ask("metrics", ""),
    waiting: () => ask<SpillState>("waiting", { rows: 0, bytes: 0, lostRows: 0 }),
    async close() {},
  };
}
