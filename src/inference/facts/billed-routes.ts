import { isOperation, operationFacts } from "./operation-facts.ts";

/**
 * Routes that write, and that providers charge nothing for when they are called: their records are free, or are paid for
 * when they are used or have ended. Names as in logs.
 */
const freeRoutes: ReadonlySet<string> = new Set([
  "create_assistant",
  "update_assistant",
  "create_thread",
  "update_thread",
  "create_message",
  "update_message",
  "update_run",
  "cancel_run",
  "create_vector_store",
  "update_vector_store",
  "create_vector_store_file",
  "update_vector_store_file",
  "create_file_batch",
  "cancel_file_batch",
  "create_video_character",
  "create_client_secret",
  "create_realtime_session",
  "create_transcription_session",
  "uploadFile",
  "createBatch",
  "cancelBatch",
  "collectBatch",
  "cancelFinetune",
  "cancelResponse",
  "countInputTokens",
  "renderPrompt",
  "custom",
  "mcp",
  "mcp_catalog",
]);

const writing: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** A request, as far as it decides about what it costs. */
interface BilledRequest {
  readonly method: string;
  /** Name of its route in logs. */
  readonly operation: string;
  /** Name of the route that a forwarded path is at its provider. */
  readonly leadsTo?: string | undefined;
}

/**
 * Whether a provider charges for a request although its response counts nothing: its cost is then unknown. Of operations
 * that use tokens, the tokens are estimated instead.
 */
export function isBilledUnseen({ method, operation, leadsTo = operation }: BilledRequest): boolean {
  if (!writing.has(method)) return false;
  if (!isOperation(leadsTo)) return !freeRoutes.has(leadsTo);
  const { counted, estimates, isFree } = operationFacts[leadsTo];
  if (isFree) return false;
  return counted !== "none" && (estimates === "none" || leadsTo !== operation);
}
