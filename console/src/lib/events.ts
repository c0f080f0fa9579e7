// Server-sent events of a response that `fetch` opened: unlike EventSource, a refusal shows its status and words.

export interface ServerEvent {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

function toEvent(block: string): ServerEvent {
  let event = "message";
  let id: string | undefined;
  const data: string[] = [];
  for (const line of block.split(/\r\n|\r|\n/)) {
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "event") event = value;
    else if (name === "data") data.push(value);
    else if (name === "id") id = value;
  }
  return { event, data: data.join("\n"), id };
}

/** The events of a response in their order. Ends with the response. */
export async function* readEvents(response: Response): AsyncGenerator<ServerEvent> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  let waiting = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      waiting += value;
      for (;;) {
        const end = /\r\n\r\n|\n\n|\r\r/.exec(waiting);
        if (end === null) break;
        yield toEvent(waiting.slice(0, end.index));
        waiting = waiting.slice(end.index + end[0].length);
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
