import * as v from "valibot";
import { type Refuse, refuseWith } from "../../errors.ts";
import { plainIssues } from "../../lib/issues.ts";
import { isObject } from "../../lib/json.ts";
import type { BatchLine } from "../../schemas/batches.ts";
import { ChatRequest } from "../../schemas/chat.ts";
import type { BatchRules, RowOptions } from "../core/records.ts";
import { betasOf, toClaudeRequest } from "./request.ts";
import { fromClaudeReply } from "./response.ts";

const refuse: Refuse = refuseWith("invalid_request_line");

function toEntry({ custom_id, body }: BatchLine, { drop }: RowOptions) {
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(custom_id))
    refuse("Cannot use the custom_id: it must be 1 to 64 letters, digits, underscores or hyphens", "custom_id");
  if (body.stream === true) refuse("Cannot use stream in a batch: leave it out", "stream");
  const checked = v.safeParse(ChatRequest, body, plainIssues);
  if (!checked.success) return refuse(`Invalid body: ${checked.issues[0].message}`, "body");
  const betas = betasOf(checked.output);
  return {
    entry: { custom_id, params: toClaudeRequest(checked.output, { strict: true, drop }, { hasSystemTurns: true }) },
    ...(betas.length > 0 && { headers: { "anthropic-beta": betas } }),
  };
}

/** https://docs.claude.com/en/api/retrieving-message-batch-results */
const Row = v.looseObject({
  custom_id: v.string(),
  result: v.looseObject({
    type: v.string(),
    message: v.nullish(v.looseObject({})),
    error: v.nullish(v.looseObject({})),
  }),
});

const reasons: Readonly<Record<string, string>> = {
  canceled: "The batch was cancelled before this request was processed",
  expired: "The batch expired before this request was processed",
};

/** Why a request failed; Anthropic wraps the error in an extra object. */
function errorOf({ type, error: envelope }: v.InferOutput<typeof Row>["result"]): { code: string; message: string } {
  const inner = isObject(envelope?.error) ? envelope.error : (envelope ?? {});
  const detail = typeof inner.message === "string" ? inner.message : reasons[type];
  const code = type === "errored" && typeof inner.type === "string" ? inner.type : `batch_${type}`;
  return { code, message: detail ?? "The request failed" };
}

function toLine(row: Record<string, unknown>, model: string): object {
  const { custom_id, result } = v.parse(Row, row);
  if (result.type !== "succeeded" || !result.message) return { custom_id, response: null, error: errorOf(result) };
  const body = fromClaudeReply(result.message, { model, messages: [] }, { strict: true, drop: () => {} });
  const request_id = typeof result.message.id === "string" ? result.message.id : "";
  return { custom_id, response: { status_code: 200, request_id, body }, error: null };
}

/** Batches of chats (https://docs.claude.com/en/docs/build-with-claude/batch-processing). */
export const claudeBatches: BatchRules = { endpoints: ["/v1/chat/completions"], inline: { toEntry, toLine } };
