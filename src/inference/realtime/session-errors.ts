import type { GatewayError } from "../../errors.ts";

/**
 * An error as clients of the Realtime API expect it (https://platform.openai.com/docs/api-reference/realtime-server-events/error).
 *
 * @param eventId The client's event that it is about; null for none.
 */
export function toErrorEvent({ type, code, message, param }: GatewayError, eventId: string | null): string {
  const error = { type, code, message, param, event_id: eventId };
  return JSON.stringify({ type: "error", event_id: `event_${crypto.randomUUID()}`, error });
}
