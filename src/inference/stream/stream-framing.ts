import { AwsEventBlocks } from "../../lib/aws-events.ts";
import { continued } from "../../lib/continued.ts";
import { JsonLineBlocks } from "../../lib/json-lines.ts";
import { EventBlocks, type EventCutter } from "../../lib/sse.ts";
import type { StreamFraming } from "../../providers/core/types.ts";

const cutters: Readonly<Record<StreamFraming, new (maxEventBytes?: number) => EventCutter>> = {
  sse: EventBlocks,
  aws: AwsEventBlocks,
  lines: JsonLineBlocks,
};

/** Splits an upstream's bytes into whole events. */
export function createCutter(framing: StreamFraming = "sse", maxEventBytes?: number): EventCutter {
  return new cutters[framing](maxEventBytes);
}

const eventStream = /^(?:text\/event-stream|application\/vnd\.amazon\.eventstream)/i;
const lineStream = /^(?:text\/(?:event-stream|plain)|application\/(?:stream\+json|x-ndjson|jsonl|jsonlines))/i;

/** Whether a response declares a stream of events, whichever way they are framed. */
function isEventStream(response: Response, framing: StreamFraming = "sse"): boolean {
  const type = response.headers.get("content-type") ?? "";
  return response.status === 200 && (framing === "lines" ? lineStream : eventStream).test(type);
}

/** A type that some hosts give to streams of events too. */
const plainText = /^text\/plain\s*(?:;|$)/i;

/** First characters of a stream of events: a field, a comment or a byte order mark (WHATWG HTML, section 9.2.6). */
const eventStart = /^\s*(?:(?:data|event|id|retry)(?=[:\r\n]|$)|:)/;
/** Most bytes that are read to find out. */
const maxStart = 16;

const starts: Readonly<Record<StreamFraming, (start: string) => boolean>> = {
  sse: (start) => eventStart.test(start),
  // starts with the length of the first message in 32 bits, high ones first: text does not start with a zero byte
  aws: (start) => start.startsWith("\0"),
  lines: (start) => eventStart.test(start) || start.trimStart().startsWith("{"),
};

/** A response, and what is known of its body. */
export interface OpenedResponse {
  response: Response;
  isStream: boolean;
}

/**
 * Whether the response to a streaming request is a stream. Without a content type, or with that of plain
 * text, its first bytes decide; the returned response includes them again. Only these are waited for.
 */
export function openAnswer(
  response: Response,
  framing: StreamFraming = "sse",
): OpenedResponse | Promise<OpenedResponse> {
  const type = response.headers.get("content-type");
  if (response.status !== 200 || (type && !(framing === "sse" && plainText.test(type)))) {
    return { response, isStream: isEventStream(response, framing) };
  }
  return readStart(response, framing);
}

async function readStart(response: Response, framing: StreamFraming): Promise<OpenedResponse> {
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
