import { isObject, parseJson } from "../lib/json.ts";
import type { SocketMessage } from "../lib/websocket.ts";
import { BodyPieces } from "../logs/body.ts";
import type { LoggedUsage } from "../schemas/logs.ts";

/** What the log keeps of a realtime session. */
export interface SessionNotes {
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

function count(holder: unknown, name: string): number {
  const value = isObject(holder) ? holder[name] : undefined;
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

/** Adds the usage of one answer. */
function addUsage(sum: LoggedUsage, usage: Record<string, unknown>): LoggedUsage {
  const input = count(usage, "input_tokens");
  const output = count(usage, "output_tokens");
  return {
    input_tokens: sum.input_tokens + input,
    output_tokens: sum.output_tokens + output,
    total_tokens: sum.total_tokens + (count(usage, "total_tokens") || input + output),
    cached_tokens: sum.cached_tokens + count(usage.input_token_details, "cached_tokens"),
    reasoning_tokens: sum.reasoning_tokens + count(usage.output_token_details, "reasoning_tokens"),
  };
}

const noUsage: LoggedUsage = {
  ...{ input_tokens: 0, output_tokens: 0, total_tokens: 0 },
  ...{ cached_tokens: 0, reasoning_tokens: 0 },
};

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
      if (type === "response.done" && isObject(response) && isObject(response.usage)) {
        usage = addUsage(usage ?? noUsage, response.usage);
      }
      if (isObject(session) && typeof session.model === "string") model ??= session.model;
      pieces.add(encoder.encode(`${message}\n`));
    },
    usage: () => usage,
    model: () => model,
    events: () => (pieces.length === 0 ? null : pieces),
  };
}
