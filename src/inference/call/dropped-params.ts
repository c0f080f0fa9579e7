import type { CallRecord } from "../../context/call-record.ts";

/** Most members that are told, and most letters of a name: both are the caller's to choose. */
const maxDropped = 100;
const maxLetters = 100;

/** Notes a member of the request that was left out, once: it is told to the caller and kept with the log row. */
export function noteDropped(log: CallRecord, member: string): void {
  log.dropped ??= [];
  if (log.dropped.length >= maxDropped) return;
  const name = member.slice(0, maxLetters).toWellFormed();
  if (!log.dropped.includes(name)) log.dropped.push(name);
}

/** A name in the list of a header: what is no plain letter or sign is percent-encoded. */
function toListedName(name: string): string {
  return name.toWellFormed().replace(/[^!-+\--~]+/g, encodeURIComponent);
}

/** The header that tells what was left out; none where nothing was. */
export function droppedHeader({ dropped }: CallRecord): Record<string, string> {
  return dropped ? { "x-gateway-dropped-params": dropped.map(toListedName).join(",") } : {};
}
