import type { Clock } from "../lib/clock.ts";
import type { AuditDraft } from "./audit-chain.ts";

/** Refusals of one key that leave a row of their own in a minute; one row counts the others. */
const rowsPerMinute = 60;
const minuteMs = 60_000;

/** What a key was refused in one minute. */
interface Minute {
  organisationId: string;
  /** Milliseconds of the monotonic clock. */
  begunAt: number;
  /** Unix milliseconds. */
  from: number;
  rows: number;
  /** How many more there were, and the last of them. */
  others: number;
  last: AuditDraft | undefined;
}

/** Keeps keys that are refused again and again from filling the audit log, which nobody can shorten. */
export interface Refusals {
  /** Whether a refusal of a key gets a row of its own; if not, it is counted. */
  takes(caller: { organisationId: string; keyId: string }): boolean;
  /** Counts a refusal that got no row. */
  count(caller: { organisationId: string; keyId: string }, draft: AuditDraft): void;
  /** Rows for what was counted in minutes that are over, or in all. */
  drain(options: { all: boolean }): { organisationId: string; audit: AuditDraft }[];
}

/** The row of what was counted. */
function summaryOf({ others, from, last }: Minute, now: number): AuditDraft | undefined {
  if (!last || others === 0) return undefined;
  const counted = { refused: others, from: new Date(from).toISOString(), to: new Date(last.time).toISOString() };
  return {
    ...last,
    time: now,
    requestId: "",
    method: "",
    uri: "",
    queryParams: "{}",
    requestHeaders: "{}",
    requestBody: JSON.stringify(counted),
    resourceType: "requests",
    resourceId: null,
    action: "refuse",
  };
}

/** Creates the counter. */
export function createRefusals(clock: Clock): Refusals {
  // keyed by tenant and key; only keys that are known get here
  const minutes = new Map<string, Minute>();
  const keyOf = ({ organisationId, keyId }: { organisationId: string; keyId: string }) =>
    JSON.stringify([organisationId, keyId]);
  const isOver = ({ begunAt }: Minute) => clock.monotonic() - begunAt >= minuteMs;
  return {
    takes(caller) {
      const known = minutes.get(keyOf(caller));
      // one that is over and has counted stays until its row is written
      const isCurrent = known && !(isOver(known) && known.others === 0);
      const minute = isCurrent
        ? known
        : {
            organisationId: caller.organisationId,
            begunAt: clock.monotonic(),
            from: clock.now(),
            rows: 0,
            others: 0,
            last: undefined,
          };
      minutes.set(keyOf(caller), minute);
      return ++minute.rows <= rowsPerMinute;
    },
    count(caller, draft) {
      const minute = minutes.get(keyOf(caller));
      if (!minute) return;
      minute.others++;
      minute.last = draft;
    },
    drain({ all }) {
      const drained: { organisationId: string; audit: AuditDraft }[] = [];
      for (const [key, minute] of minutes) {
        if (!all && !isOver(minute)) continue;
        minutes.delete(key);
        const audit = summaryOf(minute, clock.now());
        if (audit) drained.push({ organisationId: minute.organisationId, audit });
      }
      return drained;
    },
  };
}
