/** A server-sent event with the fields that a reconnecting client needs. */
export interface StreamEvent {
  readonly event: string | undefined;
  readonly id: string | undefined;
  /** Milliseconds; undefined where it is absent or not a number. */
  readonly retry: string | undefined;
  /** Its `data` lines, joined; undefined without any. */
  readonly data: string | undefined;
}

function readFields(block: string): StreamEvent | undefined {
  const fields: { event?: string; id?: string; retry?: string; data?: string } = {};
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (line === "" || colon === 0) continue;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") fields.data = fields.data === undefined ? value : `${fields.data}\n${value}`;
    else if (name === "event") fields.event = value;
    else if (name === "id" && !value.includes("\0")) fields.id = value;
    else if (name === "retry" && /^[0-9]{1,9}$/.test(value)) fields.retry = value;
  }
  const { event, id, retry, data } = fields;
  if (data === undefined && id === undefined && retry === undefined) return undefined;
  return { event, id, retry, data };
}

/** The events of a block (WHATWG HTML, section 9.2.6); comments are dropped. */
export function readStreamEvents(text: string): StreamEvent[] {
  const marked = text.startsWith("\ufeff") ? text.slice(1) : text;
  const plain = marked.includes("\r") ? marked.replace(/\r\n?/g, "\n") : marked;
  return plain.split(/\n{2,}/).flatMap((block) => readFields(block) ?? []);
}

const clean = (value: string) => value.replace(/[\r\n\0]/g, " ");

/** Serialises an event. */
export function writeStreamEvent({ event, id, retry, data }: StreamEvent): string {
  const lines = [
    ...(event === undefined ? [] : [`event: ${clean(event)}`]),
    ...(id === undefined ? [] : [`id: ${clean(id)}`]),
    ...(retry === undefined ? [] : [`retry: ${retry}`]),
    ...(data === undefined ? [] : data.split("\n").map((line) => `data: ${line}`)),
  ];
  return `${lines.join("\n")}\n\n`;
}
