import { isObject, parseJson } from "../../lib/json.ts";
import { encodeEvent, readEvents } from "../../lib/sse.ts";

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Members of a failed response that say nothing of a model (https://platform.openai.com/docs/api-reference/responses). */
const responseFacts = ["id", "object", "created_at", "model", "status", "error"];

/**
 * What a client learns of a response that a guardrail denied while it was sent: of the events that end it those with the
 * error. The others repeat what was held back.
 */
export function toDenialEvents(ending: Uint8Array): Uint8Array {
  const events = readEvents(decoder.decode(ending)).map(({ event, data }) => ({ event, value: parseJson(data) }));
  const [first] = events;
  const start = isObject(first?.value) ? first.value.sequence_number : undefined;
  let number = typeof start === "number" ? start : undefined;
  let text = "";
  for (const { event, value } of events) {
    if (!isObject(value) || !(value.type === "error" || isObject(value.error) || isFailedResponse(value))) continue;
    const numbered = number === undefined ? value : { ...value, sequence_number: number++ };
    const { response } = value;
    const shown = isObject(response) ? { ...numbered, response: { ...pick(response), output: [] } } : numbered;
    text += encodeEvent(shown, event === "" ? undefined : event);
  }
  return encoder.encode(text);
}

const isFailedResponse = ({ type, response }: Record<string, unknown>): boolean =>
  type === "response.failed" && isObject(response);

function pick(response: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(response).filter(([name]) => responseFacts.includes(name)));
}
