import type { CallRecord } from "../../context/call-record.ts";

/** Most parameters that are reported, and most characters of a name: the caller chooses both. */
const maxDropped = 100;
const maxNameLength = 100;

/**
 * Records a parameter that was left out of the request, once. It is reported to the caller and stored with the log row.
 */
export function noteDropped(log: CallRecord, member: string): void {
  log.dropped ??= [];
  if (log.dropped.length >= maxDropped) return;
  const name = member.slice(0, maxNameLength).toWellFormed();
  if (!log.dropped.includes(name)) log.dropped.push(name);
}

/** A name in the header's list; characters other than plain letters and signs are percent-encoded. */
function toListedName(name: string): string {
  return name.toWellFormed().replace(/[^!-+\--~]+/g, encodeURIComponent);
}

/** The header that lists dropped parameters; empty if nothing was dropped. */
export function droppedHeader({ dropped }: CallRecord): Record<string, string> {
  return dropped ? { "x-gateway-dropped-params": dropped.map(toListedName).join(",") } : {};
}
