import type { Clock } from "../lib/clock.ts";
import type { AuditDraft } from "./audit-chain.ts";

/** Refusals of one key per minute that get separate rows; one more row counts the others. */
const rowsPerMinute = 60;
const minuteMs = 60_000;

/** Refusals of a key in one minute. */
interface Minute {
  organisationId: string;
  /** Monotonic milliseconds. */
  begunAt: number;
  /** Unix milliseconds. */
  from: number;
  rows: number;
  /** Number of further refusals, and the last of them. */
  others: number;
  last: AuditDraft | undefined;
}

/** Prevents keys that are refused again and again from filling the audit log, which cannot be shortened. */
export interface Refusals {
  /** Whether a refusal of a key gets a separate row; otherwise count it. */
  takes(caller: { organisationId: string; keyId: string }): boolean;
  /** Counts a refusal without a row. */
  count(caller: { organisationId: string; keyId: string }, draft: AuditDraft): void;
  /** Rows for refusals counted in past minutes, or for all. */
  drain(options: { all: boolean }): { organisationId: string; audit: AuditDraft }[];
}

/** The row for counted refusals. */
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
  // keyed by tenant and key; only known keys get here
  const minutes = new Map<string, Minute>();
  const keyOf = ({ organisationId, keyId }: { organisationId: string; keyId: string }) =>
    JSON.stringify([organisationId, keyId]);
  const isOver = ({ begunAt }: Minute) => clock.monotonic() - begunAt >= minuteMs;
  return {
    takes(caller) {
      const known = minutes.get(keyOf(caller));
      // a past minute with counted refusals stays until its row is written
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
