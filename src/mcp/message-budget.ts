import { Budget, createStreamBudget } from "../lib/budget.ts";
import type { McpCall } from "./mcp-call.ts";

/** Most events of a server before its answer to one call: notifications, progress, requests to the client. */
const maxMessages = 10_000;

/** The budget of the stream that answers a call. A stream on which a client listens may last. */
export function createMessageBudget({ message }: McpCall, isQuiet = false): Budget {
  const what = "the answer of the server";
  if (isQuiet || message.method === "subscriptions/listen") return createStreamBudget(what);
  const endless = Number.POSITIVE_INFINITY;
  return new Budget({
    source: "upstream",
    what,
    unit: "messages",
    values: maxMessages,
    bytes: endless,
    steps: endless,
  });
}
