import { readStrings } from "./strings/bodies.ts";
import type { CheckInput } from "./types.ts";

/** Payload for webhook and log checks: everything a check sees, without headers. */
export function toWebhookPayload(input: CheckInput): Record<string, unknown> {
  const { phase, requestType, provider, request, response, text, metadata } = input;
  const asked = response
    ? readStrings({ phase: "beforeRequestHook", requestType }, request.body, "last").join("\n")
    : text;
  return {
    request: {
      json: request.body,
      text: asked,
      isStreamingRequest: request.isStreaming,
      isTransformed: request.isTransformed,
    },
    response: {
      json: response?.body ?? null,
      text: response ? text : "",
      statusCode: response?.status ?? null,
      isTransformed: response?.isTransformed ?? false,
    },
    provider,
    requestType,
    metadata,
    eventType: phase,
  };
}
