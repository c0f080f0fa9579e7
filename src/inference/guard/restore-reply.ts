import type { CallerContext } from "../../context.ts";
import { RequestStrings } from "../../guardrails/strings/member-kinds.ts";
import { settleRepeats } from "../../guardrails/strings/response-walk.ts";
import type { Body, RequestType } from "../../guardrails/types.ts";
import { planRestoring, restoreValues } from "../../guardrails/values/restoring.ts";
import { WindowChecks } from "../../guardrails/window.ts";
import { joinBytes } from "../../lib/bytes.ts";
import { isObject } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import { StreamWindow } from "../stream/stream-window.ts";
import { readAnswer } from "./read-answer.ts";

/** The response of a request whose values were replaced. */
interface RestoredParts {
  readonly requestType: RequestType;
  /** The request with placeholders. */
  readonly request: Body;
  /** Values by their placeholders; not empty. */
  readonly values: ReadonlyMap<string, string>;
  readonly context: CallerContext;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const memberOf = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);

/** Whether a request asks for JSON as the text of its response, in one of the forms of the APIs. */
function asksForJson(request: Body): boolean {
  const { response_format: ofChat, text, output_config: ofMessages, output_format: former } = request;
  const generation = request.generationConfig ?? request.generation_config;
  const forms = [ofChat, memberOf(text, "format"), memberOf(ofMessages, "format"), former];
  if (forms.some((form) => String(memberOf(form, "type")).startsWith("json"))) return true;
  const type = memberOf(generation, "responseMimeType") ?? memberOf(generation, "response_mime_type");
  return type === "application/json";
}

/** Whether a block holds nothing but comments, which keep a connection open. */
const isComment = (block: Uint8Array): boolean => block[0] === 0x3a && !decoder.decode(block).includes("\ndata:");

/** Restores the values of a stream of events. */
class StreamRestoring {
  readonly #window: StreamWindow | undefined;

  constructor({ requestType, request, values, context }: RestoredParts) {
    const plan = planRestoring(values);
    const source = { requestType, request: new RequestStrings(request), isJson: asksForJson(request) };
    this.#window = plan && new StreamWindow(new WindowChecks(plan, context.services.clock), source);
  }

  /** Takes whole events, and returns those that may be sent. Text that begins no placeholder does not wait. */
  async push(block: Uint8Array): Promise<Uint8Array | undefined> {
    if (!this.#window || isComment(block)) return block;
    const released = await this.#window.push(block);
    const quiet = this.#window.releaseQuiet();
    return released && quiet ? joinBytes([released, quiet]) : (released ?? quiet);
  }

  finish(): Promise<Uint8Array | undefined> {
    return this.#window ? this.#window.finish() : Promise.resolve(undefined);
  }
}

/** A stream with its values restored, read as its client asks for it. */
function restoreStream(body: ReadableStream<Uint8Array>, parts: RestoredParts): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const restoring = new StreamRestoring(parts);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (;;) {
          const { done, value } = await reader.read();
          const restored = await (done ? restoring.finish() : restoring.push(value));
          if (restored) controller.enqueue(restored);
          if (done) controller.close();
          if (done || restored) return;
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** A stream that came whole. */
async function restoreEvents(text: string, parts: RestoredParts): Promise<string> {
  const restoring = new StreamRestoring(parts);
  const pieces = [await restoring.push(encoder.encode(text)), await restoring.finish()];
  return pieces.map((piece) => decoder.decode(piece)).join("");
}

/** The response as its client gets it: the values of the request in place of their placeholders. The row has none. */
export async function restoreReply(reply: Reply, parts: RestoredParts): Promise<Reply> {
  const { body, headers } = reply;
  if (body === null) return reply;
  const isStream = headers["content-type"]?.startsWith("text/event-stream") === true;
  if (body instanceof ReadableStream) return isStream ? { ...reply, body: restoreStream(body, parts) } : reply;
  const text = typeof body === "string" ? body : decoder.decode(body);
  if (isStream) return { ...reply, body: await restoreEvents(text, parts) };
  const read = readAnswer(reply, parts);
  if (!read || read.fixedBecause !== undefined) return reply;
  const restored = restoreValues(read.value, parts.values, asksForJson(parts.request));
  if (restored === read.value) return reply;
  const { parsed: _, ...rest } = reply;
  return { ...rest, body: read.write(settleRepeats(read.value, restored)) };
}
