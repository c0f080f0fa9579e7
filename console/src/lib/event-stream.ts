/**
 * The data of each server-sent event of a response, as they arrive. Leaving the loop early cancels the response.
 *
 * @throws {TypeError} The response has no body.
 */
export async function* readEventData(response: Response): AsyncGenerator<string> {
  if (response.body === null) throw new TypeError("The response has no body");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      held += value ?? "";
      // a lone CR at the end may be half of a CRLF
      const usable = done ? held.length : held.endsWith("\r") ? held.length - 1 : held.length;
      const lines = held.slice(0, usable).split(/\r\n|\r|\n/);
      held = (done ? "" : (lines.pop() ?? "")) + held.slice(usable);
      for (const line of done ? [...lines, ""] : lines) {
        if (line.startsWith("data:")) data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
        if (line !== "" || data.length === 0) continue;
        yield data.join("\n");
        data = [];
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
