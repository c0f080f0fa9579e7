import type { Clock } from "../lib/clock.ts";
import type { AuditDraft } from "./audit-chain.ts";
import type { Committer } from "./commit.ts";

/** Refusals of one key per minute that get separate rows, whatever they are. */
const rowsPerMinute = 60;
/** Beyond these, refusals of one kind that do: a flood of one kind hides no other kind. */
const rowsPerKind = 3;
/** Most kinds of refusals that a minute of one key distinguishes. */
const maxKinds = 500;
/** Most kinds that a summary lists, the rarest first. */
const maxListed = 100;
const minuteMs = 60_000;

/** What was refused: a route, not its parameters. */
interface RefusedRoute {
  readonly method: string;
  /** Path as the endpoint declares it. */
  readonly path: string;
  readonly status: number;
}

/** Whom refusals are counted for. */
interface RefusedCaller {
  readonly organisationId: string;
  readonly keyId: string;
}

/** Refusals of one kind in one minute. */
interface Kind extends RefusedRoute {
  rows: number;
  /** Number of refusals without a row. */
  others: number;
}

/** Refusals of a key in one minute. */
interface Minute {
  organisationId: string;
  /** Monotonic milliseconds. */
  begunAt: number;
  /** Unix milliseconds. */
  from: number;
  rows: number;
  kinds: Map<string, Kind>;
  /** The last refusal without a row. */
  last: AuditDraft | undefined;
}

/** Prevents keys that are refused again and again from filling the audit log, which cannot be shortened. */
export interface Refusals {
  /** Whether a refusal of a key gets a separate row; otherwise count it. */
  takes(caller: RefusedCaller, route: RefusedRoute): boolean;
  /** Counts a refusal without a row. */
  count(caller: RefusedCaller, route: RefusedRoute, draft: AuditDraft): void;
  /** Rows for refusals counted in past minutes, or for all. */
  drain(options: { all: boolean }): { organisationId: string; audit: AuditDraft }[];
}

function keyOf({ organisationId, keyId }: RefusedCaller): string {
  return JSON.stringify([organisationId, keyId]);
}

/** The row for counted refusals: how many, and of which routes. */
function summaryOf({ kinds, from, last }: Minute, now: number): AuditDraft | undefined {
  const counted = [...kinds.values()].filter(({ others }) => others > 0);
  if (!last || counted.length === 0) return undefined;
  const routes = counted
    .sort((one, other) => one.others - other.others)
    .slice(0, maxListed)
    .map(({ method, path, status, others }) => ({ method, path, status, refused: others }));
  const refused = counted.reduce((sum, { others }) => sum + others, 0);
  const shown = { refused, from: new Date(from).toISOString(), to: new Date(last.time).toISOString(), routes };
  return {
    ...last,
    time: now,
    requestId: "",
    method: "",
    uri: "",
    queryParams: "{}",
    requestHeaders: "{}",
    requestBody: JSON.stringify(shown),
    resourceType: "requests",
    resourceId: null,
    action: "refuse",
  };
}

/** The kind of a refusal in a minute; those beyond the most are one. */
function kindIn({ kinds }: Minute, route: RefusedRoute): Kind {
  const name = JSON.stringify([route.method, route.path, route.status]);
  const known = kinds.get(name);
  if (known) return known;
  const isFull = kinds.size >= maxKinds;
  const { method, path, status } = isFull ? { method: "", path: "", status: 0 } : route;
  const kind = (isFull ? kinds.get("") : undefined) ?? { method, path, status, rows: 0, others: 0 };
  kinds.set(isFull ? "" : name, kind);
  return kind;
}

/** Creates the counter. */
export function createRefusals(clock: Clock): Refusals {
  // keyed by tenant and key; only known keys get here
  const minutes = new Map<string, Minute>();
  /** Minutes that are over, and whose row is not written yet. */
  let past: Minute[] = [];
  const isOver = ({ begunAt }: Minute) => clock.monotonic() - begunAt >= minuteMs;
  const minuteOf = (caller: RefusedCaller): Minute => {
    const known = minutes.get(keyOf(caller));
    if (known && !isOver(known)) return known;
    if (known?.last) past.push(known);
    const { organisationId } = caller;
    const begun = { begunAt: clock.monotonic(), from: clock.now() };
    const minute: Minute = { organisationId, ...begun, rows: 0, kinds: new Map(), last: undefined };
    minutes.set(keyOf(caller), minute);
    return minute;
  };
  return {
    takes(caller, route) {
      const minute = minuteOf(caller);
      const kind = kindIn(minute, route);
      if (minute.rows >= rowsPerMinute && kind.rows >= rowsPerKind) return false;
      minute.rows++;
      kind.rows++;
      return true;
    },
    count(caller, route, draft) {
      const minute = minuteOf(caller);
      kindIn(minute, route).others++;
      minute.last = draft;
    },
    drain({ all }) {
      const ended = past;
      past = [];
      for (const [key, minute] of minutes) {
        if (!all && !isOver(minute)) continue;
        minutes.delete(key);
        ended.push(minute);
      }
      return ended.flatMap((minute) => {
        const audit = summaryOf(minute, clock.now());
        return audit ? [{ organisationId: minute.organisationId, audit }] : [];
      });
    },
  };
}

/** Most rows that wait for the database; older ones are dropped. */
const maxWaiting = 1_000;

/** Writes the rows of counted refusals; those that cannot be written wait for the next call. */
export function createRefusalWriter(
  refusals: Refusals,
  committer: Committer,
): (which: { all: boolean }) => Promise<void> {
  const waiting: ReturnType<Refusals["drain"]> = [];
  let running: Promise<void> = Promise.resolve();
  const writeAll = async () => {
    for (let next = waiting[0]; next; next = waiting[0]) {
      const { organisationId, audit } = next;
      await committer.run(organisationId, async () => ({ statements: [], audit }));
      waiting.shift();
    }
  };
  return (which) => {
    waiting.push(...refusals.drain(which));
    if (waiting.length === 0) return running;
    waiting.splice(0, waiting.length - maxWaiting);
    running = running.catch(() => {}).then(writeAll);
    return running;
  };
}
