import { parseExact } from "../../lib/exact-numbers.ts";
import type { Reply } from "../../lib/reply.ts";
import { EventBlocks, readEvents } from "../../lib/sse.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Writes the events of a stream as items of a JSON list; comments become blanks between them. */
function toList(stream: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const blocks = new EventBlocks();
  let count = 0;
  return stream.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const block = blocks.push(chunk);
        if (block === undefined) return;
        let text = "";
        for (const { data } of readEvents(decoder.decode(block))) text += `${count++ === 0 ? "[" : ",\n"}${data}`;
        controller.enqueue(encoder.encode(text === "" ? "\n" : text));
      },
      flush(controller) {
        controller.enqueue(encoder.encode(count === 0 ? "[]" : "\n]"));
      },
    }),
  );
}

/** A JSON text without line ends. */
function toOneLine(text: string): string {
  const { value, write } = parseExact(text);
  return write(value);
}

/**
 * A streamed response in the format its client requested: server-sent events, or a JSON list sent item by item. A
 * non-streaming response becomes a stream of one chunk.
 *
 * @param alt The query parameter of this name.
 */
export function toStreamForm(reply: Reply, alt: string | null): Reply {
  const isEvents = alt === "sse";
  // a stream that was held back comes as one string
  const isStream = reply.headers["content-type"]?.startsWith("text/event-stream") === true;
  const body = isStream && typeof reply.body === "string" ? new Response(reply.body).body : reply.body;
  const type = isEvents ? "text/event-stream; charset=utf-8" : "application/json";
  const asked: Reply = { ...reply, headers: { ...reply.headers, "content-type": type } };
  if (body instanceof ReadableStream) return { ...asked, body: isEvents ? body : toList(body) };
  const text = typeof body === "string" ? body : decoder.decode(body ?? new Uint8Array());
  return { ...asked, body: isEvents ? `data: ${toOneLine(text)}\n\n` : `[${text}\n]` };
}
