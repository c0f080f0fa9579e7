import { AwsEventBlocks } from "../../lib/aws-events.ts";
import { JsonLineBlocks } from "../../lib/json-lines.ts";
import { EventBlocks, type EventCutter } from "../../lib/sse.ts";
import type { StreamFraming } from "../../providers/core/types.ts";

const cutters: Readonly<Record<StreamFraming, () => EventCutter>> = {
  sse: () => new EventBlocks(),
  aws: () => new AwsEventBlocks(),
  lines: () => new JsonLineBlocks(),
};

/** What cuts an upstream's bytes into whole events. */
export function createCutter(framing: StreamFraming = "sse"): EventCutter {
  return cutters[framing]();
}

const eventStream = /^(?:text\/event-stream|application\/vnd\.amazon\.eventstream)/i;
const lineStream = /^(?:text\/(?:event-stream|plain)|application\/(?:stream\+json|x-ndjson|jsonl|jsonlines))/i;

/** Whether an answer says that it is a stream of events, whichever way they are framed. */
function isEventStream(response: Response, framing: StreamFraming = "sse"): boolean {
  const type = response.headers.get("content-type") ?? "";
  return response.status === 200 && (framing === "lines" ? lineStream : eventStream).test(type);
}

/** First letters of a stream of events: a field, a comment or a byte order mark (WHATWG HTML, section 9.2.6). */
const eventStart = /^\s*(?:(?:data|event|id|retry)\b|:)/;
/** Longest beginning that is waited for. */
const maxStart = 16;

const starts: Readonly<Record<StreamFraming, (start: string) => boolean>> = {
  sse: (start) => eventStart.test(start),
  // the length of the first message in 32 bits, the high ones first: no text begins with a zero
  aws: (start) => start.startsWith("\0"),
  lines: (start) => eventStart.test(start) || start.trimStart().startsWith("{"),
};

/** An answer, and what is known of its body. */
export interface OpenedAnswer {
  response: Response;
  isStream: boolean;
}

/**
 * Whether the answer to a request for a stream is one. Where no content type says so, by how it begins; what was read of it for
 * that comes again in the response that is given back.
 */
export function openAnswer(response: Response, framing: StreamFraming = "sse"): OpenedAnswer | Promise<OpenedAnswer> {
  if (response.status !== 200 || response.headers.get("content-type")) {
    return { response, isStream: isEventStream(response, framing) };
  }
  return readStart(response, framing);
}

async function readStart(response: Response, framing: StreamFraming): Promise<OpenedAnswer> {
  const { status, headers, body } = response;
  if (body === null) return { response, isStream: false };
  const reader = body.getReader();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let start = "";
  const decoder = new TextDecoder("latin1");
  while (start.trimStart().length < maxStart && start.length < maxStart * 4) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    start += decoder.decode(value.subarray(0, maxStart * 4));
  }
  const plain = start.startsWith("\u00ef\u00bb\u00bf") ? start.slice(3) : start;
  return { response: new Response(continued(pieces, reader), { status, headers }), isStream: starts[framing](plain) };
}

/** The bytes that were read already, then what is left. */
function continued(
  pieces: Uint8Array<ArrayBuffer>[],
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const piece = pieces.shift();
        if (piece) return controller.enqueue(piece);
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
