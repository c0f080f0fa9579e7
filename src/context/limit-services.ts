import type { LimitAlerts } from "../control/alerts/alerts.ts";
import type { LimitCounterStore } from "../db/stores/limit-counters.ts";
import type { LimitJournal } from "../logs/journal.ts";
import type { LimitStore } from "../policies/limit-store.ts";
import type { LimitQueues } from "../policies/queue/limit-queues.ts";

/** What counts and bounds what requests use. */
export interface LimitServices {
  /** Notes what requests used of limits before their responses end. Undefined where that is not asked for. */
  readonly limitJournal: Pick<LimitJournal, "append"> | undefined;
  /** Counters of limits. */
  readonly limitStore: LimitStore;
  /** Requests that wait for room in limits. */
  readonly limitQueues: LimitQueues;
  /** The stored counters. */
  readonly limitCounters: LimitCounterStore;
  readonly limitAlerts: LimitAlerts;
}
