import { isObject, parseJson } from "../../lib/json.ts";
import type { SocketMessage } from "../../lib/websocket.ts";
import { BodyPieces } from "../../logs/body.ts";
import { addUsage, toLoggedUsage } from "../../logs/usage.ts";
import type { LoggedUsage } from "../../schemas/logs.ts";

/** What is logged of a realtime session. */
export interface SessionNotes {
  /** Observes a message of the upstream. */
  add(message: SocketMessage): void;
  /** Tokens of its responses since `forgetUsage`; null when it reported none. */
  usage(): LoggedUsage | null;
  /** The tokens so far have a log row: only those of later responses count from now on. */
  forgetUsage(): void;
  /** The model the upstream named. */
  model(): string | null;
  /** The logged events, one per line; null without events. */
  events(): BodyPieces | null;
}

/**
 * Events that are logged (https://platform.openai.com/docs/api-reference/realtime-server-events). Their JSON may be
 * laid out in any way, but names its type.
 */
const loggedEvents = /"type"\s*:\s*"(session\.created|session\.updated|response\.done|error)"/;

const encoder = new TextEncoder();

/** Creates the notes of one session. */
export function createSessionNotes(): SessionNotes {
  const pieces = new BodyPieces();
  let usage: LoggedUsage | null = null;
  let model: string | null = null;
  return {
    add(message) {
      if (typeof message !== "string" || !loggedEvents.test(message)) return;
      const event = parseJson(message);
      if (!isObject(event)) return;
      const { type, response, session } = event;
      if (type === "response.done" && isObject(response)) {
        usage = addUsage(usage, toLoggedUsage(response.usage));
      }
      if (isObject(session) && typeof session.model === "string") model ??= session.model;
      pieces.add(encoder.encode(`${message}\n`));
    },
    usage: () => usage,
    forgetUsage() {
      usage = null;
    },
    model: () => model,
    events: () => (pieces.length === 0 ? null : pieces),
  };
}
