import type { Services } from "../context.ts";
import { isRefusedStatement } from "../db/client.ts";
import { startTimer } from "../lib/clock.ts";
import { type Crew, settledWithin } from "../lib/crew.ts";
import type { Answer, Link } from "../lib/link.ts";
import type { SteadyLink } from "../lib/steady-link.ts";
import { fromMessage, type PackedMessage } from "../logs/handed/packed-message.ts";
import { RowCollector, type Taken } from "../logs/handed/row-collector.ts";
import type { LogWriter } from "../logs/writer.ts";
import { LimitHost } from "../policies/owned/limit-host.ts";
import type { RoutingEvent } from "../routing/state.ts";
import type { LateHooks } from "../schemas/logs.ts";
import { version } from "../version.ts";
import { ledgerOf } from "./limit-store.ts";
import type { GatewayOptions } from "./options.ts";

/** Longest time a write waits for the other processes to apply it, in milliseconds. They look by themselves twice a second. */
const announceMs = 1_000;
/** How long an owner that takes the place of another waits for what the workers know, in milliseconds. */
const gatherMs = 3_000;

/** Makes the other processes of a gateway apply what this one has written; undefined where this is the only one. */
export function announcementOf({ owner, crew }: GatewayOptions): (() => Promise<void>) | undefined {
  if (crew) return () => crew.ask("look", { withinMs: announceMs });
  if (!owner) return undefined;
  return async () => {
    const { current } = owner;
    if (current) await settledWithin([current.ask("changed", null)], announceMs);
  };
}

/** Sends what routing remembers to the other processes of a gateway; undefined where this is the only one. */
export function publishOf({ owner, crew }: GatewayOptions): ((event: RoutingEvent) => void) | undefined {
  if (crew) return (event) => crew.tell("routing", event);
  return owner && ((event) => owner.current?.tell("routing", event));
}

/** Connects a process to the owner of its log and counters. */
export async function joinOwner(
  owner: SteadyLink,
  { control, batches, vectorStores, evalRuns, routing }: Services,
): Promise<void> {
  owner.answer("routing", ({ value }) => routing.follow(value as RoutingEvent));
  owner.answer("look", () => control.follower.look());
  for (const work of [batches, vectorStores, evalRuns]) work.onWake(() => owner.current?.tell("wake", null));
  // the last greeting: what came before is all that the owner needs to know
  owner.greet((link) => link.tell("synced", null));
  owner.start();
  if (!(await owner.within(gatherMs * 10))) {
    throw new Error("Cannot serve: the process that owns the database does not answer");
  }
}

/** What an owner works with. */
interface OwnerParts {
  readonly services: Services;
  readonly writer: LogWriter;
}

/** Waits for the processes that were there before their owner. */
class Gathering {
  readonly #late: () => void;
  #missing: number;
  #done: Promise<void> | undefined;

  constructor(expected: number) {
    this.#missing = expected;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = expected > 0 ? startTimer(gatherMs, () => this.#late()) : () => {};
    this.#late = () => {
      cancel();
      this.#done = undefined;
      resolve();
    };
    this.#done = expected > 0 ? promise : undefined;
  }

  /** Resolves once all are there; undefined from then on. */
  get ready(): Promise<void> | undefined {
    return this.#done;
  }

  note(): void {
    if (--this.#missing <= 0) this.#late();
  }
}

/** Serves the other processes of a gateway. The result stores what they have handed over. */
export function serveCrew(crew: Crew, { services, writer }: OwnerParts): () => Promise<void> {
  const { appendPacked } = writer;
  if (!appendPacked) throw new TypeError("Cannot serve other processes: the log has no thread");
  const peer = crypto.randomUUID();
  const gathering = new Gathering(crew.expected);
  const ledger = ledgerOf(services.limitStore);
  const limits = ledger && new LimitHost(ledger, () => gathering.ready);
  const rows = new RowCollector({
    append: appendPacked,
    isPermanent: isRefusedStatement,
    isStored: async ({ organisationId, workspaceId, details }) => {
      const [first] = JSON.parse(details) as { id: string }[]; // written by `packRecords`
      return (
        first !== undefined && (await services.logStore.find({ organisationId, workspaceId }, first.id)) !== undefined
      );
    },
  });
  crew.serve((link) => {
    const customer = limits?.serve();
    const checks: Promise<void>[] = [];
    const take = (message: PackedMessage, isAgain: boolean, knower: string): Promise<Taken> => {
      const batch = fromMessage(message);
      // who knew it has ended
      const gain = () => {
        if (knower !== peer) limits?.gain(batch.organisationId, batch.counted);
      };
      if (!isAgain) return rows.take(batch);
      const { promise, resolve } = Promise.withResolvers<void>();
      checks.push(promise);
      return rows.takeAgain(batch, gain, resolve);
    };
    const answers: Record<string, Answer> = {
      hello({ value }) {
        const [its, group] = value as [version: string, group: string]; // as a worker of this version sends it
        if (its !== version) throw new Error(`Cannot work together: ${String(its)} is not version ${version}`);
        crew.add(link(), group);
        link().onClose(() => customer?.end());
        return peer;
      },
      rows: ({ value, bytes }) => {
        const [head, isAgain, knower] = value as [PackedMessage["head"], boolean, string];
        return take({ head, bytes }, isAgain, knower);
      },
      async synced() {
        await Promise.all(checks.splice(0));
        gathering.note();
      },
      async changed() {
        await Promise.all([services.control.follower.look(), crew.ask("look", except(link()))]);
      },
      routing({ value }) {
        services.routing.follow(value as RoutingEvent);
        crew.tell("routing", value, link());
      },
      wake() {
        services.batches.wake();
        services.vectorStores.wake();
        services.evalRuns.wake();
      },
      hooks: ({ value }) => writer.traceHooks?.(value as LateHooks[]),
      metrics: () => writer.metrics(),
      waiting: () => writer.waiting?.(),
    };
    return { ...answers, ...customer?.answers };
  });
  return () => rows.close();
}

const except = (link: Link) => ({ except: link, withinMs: announceMs });
