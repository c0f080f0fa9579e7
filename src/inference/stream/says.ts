// Which events of a stream say something. Others name the response, count tokens, or keep the connection open.

import { isObject, parseJson } from "../../lib/json.ts";

type Members = Readonly<Record<string, unknown>>;

/** Whether a value holds anything. */
function isFilled(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isObject(value)) return Object.keys(value).length > 0;
  return value !== null && value !== undefined && value !== "";
}

/** Whether a choice of a chunk says something: its text, a call, a refusal, or why it ends. */
function choiceSays(choice: unknown): boolean {
  if (!isObject(choice)) return false;
  const { delta, text, finish_reason: reason } = choice;
  if (isFilled(reason) || isFilled(text)) return true;
  return isObject(delta) && Object.entries(delta).some(([name, value]) => name !== "role" && isFilled(value));
}

/** Whether a chunk of a chat or completion says something. Chunks without choices may hold what a client knows. */
export function chunkSays({ choices, usage }: Members): boolean {
  return Array.isArray(choices) ? choices.some(choiceSays) : !isObject(usage);
}

const isSaidPart = (part: unknown) => isObject(part) && Object.values(part).some(isFilled);

function candidateSays(candidate: unknown): boolean {
  if (!isObject(candidate)) return false;
  const { content, finishReason } = candidate;
  const parts = isObject(content) && Array.isArray(content.parts) ? content.parts : [];
  return isFilled(finishReason) || parts.some(isSaidPart);
}

/** Whether an event of the Gemini API says something: its counts alone do not. */
export function contentSays({ candidates, promptFeedback }: Members): boolean {
  if (Array.isArray(candidates) && candidates.some(candidateSays)) return true;
  return isObject(promptFeedback) && isFilled(promptFeedback.blockReason);
}

/** Whether an event of Anthropic's Messages API says something. */
export function messageEventSays({ type, message, delta }: Members): boolean {
  if (type === "message_start") return isObject(message) && isFilled(message.content);
  if (type === "message_delta") return isObject(delta) && isFilled(delta.stop_reason);
  return type !== "ping" && type !== "message_stop";
}

/** Failures are no answer either. */
const silentResponseEvents: ReadonlySet<unknown> = new Set([
  "response.created",
  "response.in_progress",
  "response.queued",
  "response.failed",
  "error",
  "keepalive",
]);

/** Whether an event of the Responses API says something. */
export function responseEventSays({ type }: Members): boolean {
  return !silentResponseEvents.has(type);
}

/** Whether the data of an event says something. Data that is not an object may mean something to a client. */
export function dataSays(data: string, says: (event: Members) => boolean): boolean {
  if (data === "" || data === "[DONE]") return false;
  const event = parseJson(data);
  return isObject(event) ? !event.error && says(event) : true;
}
