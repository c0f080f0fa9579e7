import { isObject, parseJson } from "../../lib/json.ts";
import { readFirstEvent } from "../../lib/sse.ts";

/** The end of an event's text. */
export const lineEnds = /[\r\n]+$/;

/** The data of an event. */
export function dataOf(written: string): string {
  const end = written.indexOf("\n");
  if (end === written.length - 2 && written.startsWith("data: ")) return written.slice(6, end);
  return readFirstEvent(`${written.replace(lineEnds, "")}\n\n`)?.data ?? "";
}

/** The events of whole blocks, with what ends each. */
export function splitEvents(block: string): string[] {
  if (!block.includes("\r")) {
    const events: string[] = [];
    let start = 0;
    for (let end = block.indexOf("\n\n"); end >= 0; end = block.indexOf("\n\n", start)) {
      events.push(block.slice(start, end + 2));
      start = end + 2;
    }
    if (start < block.length) events.push(block.slice(start));
    return events;
  }
  return block.split(/(?<=\r\n\r\n|\n\n|\r\r)/);
}

/** Names of events that the data do not repeat. */
const eventNames: ReadonlySet<string> = new Set(["message", "error", "ping", "done", "hook_results"]);

/** An event of one line of data, which most streams have. */
const plainForm = /^data: [^\n\r]*\n\n$/;
/** The same below its name. */
const namedForm = /^event: ([\w.]+)\ndata: [^\n\r]*\n\n$/;

/** Whether the name of an event is known, or is the kind that its data state. */
const isKnownName = (name: string, data: string): boolean =>
  eventNames.has(name) || data.includes(`"type":"${name}"`) || data.includes(`"type": "${name}"`);

/**
 * A server-sent event without what no check reads: comments, ids, and names that are not those of the API. Empty where
 * nothing is left.
 */
export function cleanEvent(written: string, data: string): string {
  if (plainForm.test(written)) return written;
  const [, name] = namedForm.exec(written) ?? [];
  if (name !== undefined && isKnownName(name, data)) return written;
  const event = readFirstEvent(`${written.replace(lineEnds, "")}\n\n`);
  if (event === undefined) return "";
  const isKnown = event.event !== "" && isKnownName(event.event, data);
  const lines = data.split("\n").map((line) => `data: ${line}\n`);
  return `${isKnown ? `event: ${event.event}\n` : ""}${lines.join("")}\n`;
}

/** Whether data look like those of an event of the APIs: JSON, or the end of the stream. */
export function isEvent(data: string): boolean {
  return data.startsWith("{") || data === "[DONE]";
}

/** A whole stream without what no check reads. */
export function cleanStream(text: string): string {
  const isRead = (data: string): boolean => data === "[DONE]" || isObject(parseJson(data));
  return splitEvents(text)
    .map((written) => ({ written, data: dataOf(written) }))
    .map(({ written, data }) => (isRead(data) ? cleanEvent(written, data) : ""))
    .join("");
}
