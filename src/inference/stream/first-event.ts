import type { CallerContext } from "../../context.ts";
import { UpstreamError } from "../../errors.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { Pace } from "../../lib/pace.ts";
import { type EventCutter, EventTooLongError, maxEventBytes, readFirstEventOf } from "../../lib/sse.ts";
import { statusOfErrorBody } from "../../providers/core/failures.ts";
import { toProviderError } from "../call/provider-response.ts";
import { typedFailureOf } from "./typed-streams.ts";

/** A stream whose events are inspected. */
export interface CheckedStream {
  upstream: Response;
  context: CallerContext;
}

/**
 * Reads up to the first event, so that a failure before it still is a response with a status.
 *
 * @throws {UpstreamError} If the stream ends, breaks or reports an error before its first event.
 * @throws {EventTooLongError} If what comes before it is longer than an event may be.
 */
export async function readFirstBlock(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  blocks: EventCutter,
  stream: CheckedStream,
): Promise<Uint8Array> {
  const provider = stream.context.log.provider ?? "provider";
  const pace = new Pace();
  let passedOver = 0;
  for (;;) {
    const { done, value } = await reader.read();
    const bytes = done ? blocks.takeRest() : blocks.push(value);
    if (bytes !== undefined) {
      const event = readFirstEventOf(bytes);
      if (event !== undefined) {
        checkEvent(event.data, stream);
        return bytes;
      }
      passedOver += bytes.length;
      // endless blank lines and comments are not a stream
      if (passedOver > maxEventBytes) throw new EventTooLongError();
    }
    const turn = done ? undefined : pace.note(value.length);
    if (turn) await turn;
    if (done) {
      throw new UpstreamError(502, `Cannot use the response of ${provider}: its stream ended before the first event`, {
        provider,
        code: "upstream_empty_stream",
      });
    }
  }
}

/** Rejects a malformed event. @throws {UpstreamError} Also the failure it reports. */
export function checkEvent(data: string, { context, upstream }: CheckedStream): void {
  if (data === "[DONE]") return;
  const parsed = parseJson(data);
  // Google sends failures as a list of one (https://cloud.google.com/apis/design/errors)
  const value: unknown = Array.isArray(parsed) && isObject(parsed[0]) && parsed[0].error ? parsed[0] : parsed;
  const provider = context.log.provider ?? "provider";
  if (!isObject(value)) {
    throw new UpstreamError(502, `Cannot use the response of ${provider}: its stream does not hold JSON`, {
      provider,
      code: "upstream_bad_answer",
    });
  }
  const error = value.error ?? typedFailureOf(value);
  if (error === undefined || error === null) return;
  const status = statusOfErrorBody(error);
  const text = value === parsed && value.error === error ? data : JSON.stringify({ error });
  throw toProviderError({ status, headers: upstream.headers }, text, context);
}
