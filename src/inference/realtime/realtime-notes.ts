import { isObject, parseJson } from "../../lib/json.ts";
import type { SocketMessage } from "../../lib/websocket.ts";
import { BodyPieces } from "../../logs/body.ts";
import { addUsage, toLoggedUsage } from "../../logs/usage.ts";
import type { LoggedUsage } from "../../schemas/logs.ts";

/** What the log keeps of a realtime session. */
interface SessionNotes {
  /** Looks at a message of the upstream. */
  add(message: SocketMessage): void;
  /** Tokens of all its answers; null when it gave none. */
  usage(): LoggedUsage | null;
  /** The model the upstream named. */
  model(): string | null;
  /** The events that tell what happened, one in a line; null when there were none. */
  events(): BodyPieces | null;
}

/**
 * Events that are kept (https://platform.openai.com/docs/api-reference/realtime-server-events). They need not be JSON of
 * any layout, but they name their kind.
 */
const keptForm = /"type"\s*:\s*"(session\.created|session\.updated|response\.done|error)"/;

const encoder = new TextEncoder();

/** Notes of one session. */
export function createSessionNotes(): SessionNotes {
  const pieces = new BodyPieces();
  let usage: LoggedUsage | null = null;
  let model: string | null = null;
  return {
    add(message) {
      if (typeof message !== "string" || !keptForm.test(message)) return;
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
    model: () => model,
    events: () => (pieces.length === 0 ? null : pieces),
  };
}
