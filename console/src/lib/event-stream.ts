export interface ServerEvent {
  /** `message` where the stream names none. */
  readonly event: string;
  /** Undefined: the event has no data. */
  readonly data: string | undefined;
  readonly id: string | undefined;
}

/** Puts lines together to events: an empty line ends one. */
class EventLines {
  #event = "message";
  #id: string | undefined;
  #data: string[] = [];
  #isEmpty = true;

  /** The event that a line ends, if it ends one. */
  add(line: string): ServerEvent | undefined {
    if (line === "") return this.#end();
    const colon = line.indexOf(":");
    if (colon === 0) return undefined;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#event = value;
    else if (name === "id") this.#id = value;
    else return undefined;
    this.#isEmpty = false;
    return undefined;
  }

  #end(): ServerEvent | undefined {
    if (this.#isEmpty) return undefined;
    const data = this.#data.length === 0 ? undefined : this.#data.join("\n");
    const ended = { event: this.#event, data, id: this.#id };
    this.#event = "message";
    this.#id = undefined;
    this.#data = [];
    this.#isEmpty = true;
    return ended;
  }
}

/**
 * The server-sent events of a response, as they arrive. Leaving the loop early cancels the response.
 *
 * @throws {TypeError} The response has no body.
 */
export async function* readEvents(response: Response): AsyncGenerator<ServerEvent> {
  if (response.body === null) throw new TypeError("The response has no body");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const events = new EventLines();
  let held = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      held += value ?? "";
      // a lone CR at the end may be half of a CRLF
      const usable = done ? held.length : held.endsWith("\r") ? held.length - 1 : held.length;
      const lines = held.slice(0, usable).split(/\r\n|\r|\n/);
      held = (done ? "" : (lines.pop() ?? "")) + held.slice(usable);
      for (const line of done ? [...lines, ""] : lines) {
        const ended = events.add(line);
        if (ended !== undefined) yield ended;
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** As `readEvents`, the data of events that have some. */
export async function* readEventData(response: Response): AsyncGenerator<string> {
  for await (const { data } of readEvents(response)) if (data !== undefined) yield data;
}
