import type { CallerContext, RunningStream, Services } from "../../context.ts";
import { isJsonType } from "../../endpoint.ts";
import { toGatewayError } from "../../errors.ts";
import { KeepAlive } from "../../lib/keep-alive.ts";
import type { Ending, Reply } from "../../lib/reply.ts";
import { BodyPieces } from "../../logs/body.ts";
import { AbortReason } from "../../providers/core/call.ts";
import { type Attempt, endCall, toAttemptError } from "../call/attempt.ts";

/** Whether bytes of this content type are readable in a log. */
export function isText(type: string | null | undefined, coding: string | null | undefined): boolean {
  if (!type || (coding && coding !== "identity")) return false;
  return isJsonType(type) || /^text\//i.test(type);
}

/** Whether something can be sent between the bytes of a response: events of a text whose length is not announced. */
function takesKeepAlive(headers: Readonly<Record<string, string>>): boolean {
  const coding = headers["content-encoding"] ?? "identity";
  const isOpen = headers["content-length"] === undefined && coding === "identity";
  return isOpen && /^text\/event-stream(?:;|$)/i.test(headers["content-type"] ?? "");
}

/** How a forwarded response ended. */
interface ForwardEnd {
  failure: unknown;
  /** The client disconnected. */
  left: boolean;
  /** First bytes of a text. */
  text: BodyPieces | null;
}

/** Forwards an upstream's response to the client, with limits on idle and total time; `onEnd` is called once. */
function relayBytes(
  body: ReadableStream<Uint8Array>,
  options: {
    attempt: Attempt;
    services: Pick<Services, "clock" | "limits" | "streams">;
    logsText: boolean;
    observe: ForwardFacts["observe"];
    /** Whether comments may be sent between its events. */
    takesKeepAlive: boolean;
    onEnd(end: ForwardEnd): void;
  },
): ReadableStream<Uint8Array> {
  const { attempt, services, logsText, observe } = options;
  const { clock, limits, streams } = services;
  const reader = body.getReader();
  const startedAt = clock.monotonic();
  let lastByteAt = startedAt;
  let sendWhileAsked: ((bytes: Uint8Array) => void) | undefined;
  const keepAlive = new KeepAlive(options.takesKeepAlive ? limits.streamKeepAliveMs : 0, startedAt);
  const text = logsText ? new BodyPieces() : null;
  const flow: RunningStream = {
    tick(now) {
      if (now - lastByteAt > limits.streamIdleTimeoutMs || now - startedAt > limits.streamTotalTimeoutMs) {
        attempt.abort(new AbortReason("idle", "Cannot finish the response: it was idle or took too long"));
      } else if (sendWhileAsked) {
        const bytes = keepAlive.take(now);
        if (bytes) sendWhileAsked(bytes);
      }
    },
    end: () => attempt.abort(new AbortReason("shutdown", "Cannot finish the response: the gateway is stopping")),
  };
  streams.add(flow);
  const end = (failure: unknown, left: boolean) => {
    if (!streams.delete(flow)) return;
    attempt.release();
    options.onEnd({ failure, left, text });
  };
  let fail: (error: unknown) => void = () => {};
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        fail = (error) => {
          if (!streams.has(flow)) return;
          reader.cancel(error).catch(() => {});
          end(error, isClientAbort(attempt));
          // the connection breaks off, as the upstream's did: a clean end would look like a complete response
          controller.error(error);
        };
        // a caller that reads nothing has no pending read for the abort to end
        attempt.signal.addEventListener("abort", () => fail(attempt.signal.reason), { once: true });
      },
      async pull(controller) {
        try {
          sendWhileAsked = (bytes) => controller.enqueue(bytes);
          const { done, value } = await reader.read();
          sendWhileAsked = undefined;
          if (!streams.has(flow)) return;
          lastByteAt = clock.monotonic();
          if (done) {
            end(undefined, false);
            // the request is settled before its response ends: a client that saw the end was counted
            await Promise.resolve();
            return controller.close();
          }
          keepAlive.note(value, lastByteAt);
          text?.add(value);
          observe?.(value);
          controller.enqueue(value);
        } catch (error) {
          fail(error);
        }
      },
      cancel(reason) {
        attempt.abort(new AbortReason("client", "the caller disconnected"));
        end(reason, true);
        // the abort has broken it off already
        return reader.cancel(reason).catch(() => {});
      },
    },
    { highWaterMark: 0 },
  );
}

/** The call of a response, for its log row. */
interface ForwardFacts {
  attempt: Attempt;
  /** Slug of the provider. */
  provider: string;
  /** Whether the first bytes are logged. */
  logsText: boolean;
  /** Sees each piece. */
  observe?: ((bytes: Uint8Array) => void) | undefined;
}

/** A response that is forwarded unchanged; its log row is written when it ends. */
export function forwardBody(
  { status, headers, body }: { status: number; headers: Record<string, string>; body: ReadableStream<Uint8Array> },
  { attempt, provider, logsText, observe }: ForwardFacts,
  context: CallerContext,
): Reply {
  const { promise: finished, resolve: finish } = Promise.withResolvers<Ending>();
  const relayed = relayBytes(body, {
    attempt,
    services: context.services,
    logsText,
    observe,
    takesKeepAlive: takesKeepAlive(headers),
    onEnd({ failure, left, text }) {
      endCall(attempt, context);
      const error = failure === undefined ? undefined : toAttemptError(failure, attempt, provider);
      const ended = left ? 499 : error ? toGatewayError(error).status : status;
      finish({
        status: ended,
        error,
        note() {
          context.log.responseBody = text;
        },
      });
    },
  });
  return { status, headers, body: relayed, finished };
}

function isClientAbort({ signal }: Attempt): boolean {
  return signal.reason instanceof AbortReason && signal.reason.kind === "client";
}
