import type { StreamError } from "../../dialects/types.ts";
import { GatewayError, UpstreamError } from "../../errors.ts";
import { isObject, stringOf } from "../../lib/json.ts";

/** The fields of the gateway's error body, for streams with error events in a form of the route. */
export function toStreamError(body: object, status: number): StreamError {
  const error: unknown = Reflect.get(body, "error");
  const { message, type, code, param } = isObject(error) ? error : {};
  const textOrNull = (value: unknown) => stringOf(value) ?? null;
  return {
    message: textOrNull(message) ?? "",
    type: textOrNull(type) ?? "api_error",
    code: textOrNull(code),
    param: textOrNull(param),
    status,
  };
}

/** The error for an event: the mapper's own, or that the event is invalid. */
export function toStreamFailure(cause: unknown, provider: string): GatewayError {
  if (cause instanceof GatewayError) return cause;
  const message = `Cannot use the response of ${provider}: an event of its stream is invalid`;
  return new UpstreamError(502, message, { cause, provider, code: "upstream_bad_answer" });
}
