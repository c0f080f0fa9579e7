import { UpstreamError } from "../../../errors.ts";
import { isObject, objectsIn } from "../../../lib/json.ts";
import type { ConversionOptions } from "../../core/types.ts";
import type { RequestBody } from "../request.ts";

/**
 * Sets `thinking` from a request that only has an effort level, in DeepSeek's form
 * (https://api-docs.deepseek.com/guides/thinking_mode).
 */
export function addThinking(body: RequestBody): void {
  const { reasoning_effort: effort, thinking } = body;
  if (typeof effort !== "string" || isObject(thinking)) return;
  body.thinking = { type: effort === "none" ? "disabled" : "enabled" };
  if (effort === "none") delete body.reasoning_effort;
}

/** Thinking that Claude's newest models know alone (`adaptive`), for hosts that have an effort or a switch for it. */
export function withoutAdaptive(body: RequestBody): void {
  const { thinking, reasoning_effort: effort } = body;
  if (!isObject(thinking) || thinking.type !== "adaptive") return;
  if (typeof effort === "string") delete body.thinking;
  else body.thinking = { type: "enabled" };
}

/**
 * Qwen's fields for thinking (https://docs.siliconflow.cn/en/api-reference/chat-completions/chat-completions,
 * https://www.alibabacloud.com/help/en/model-studio/deep-thinking).
 */
export function toQwenThinking(body: RequestBody): void {
  const { thinking, reasoning_effort: effort } = body;
  delete body.thinking;
  delete body.reasoning_effort;
  if (body.enable_thinking === undefined) {
    if (isObject(thinking)) body.enable_thinking = thinking.type !== "disabled";
    else if (typeof effort === "string") body.enable_thinking = effort !== "none";
  }
  if (body.thinking_budget !== undefined || !isObject(thinking)) return;
  if (typeof thinking.budget_tokens === "number") body.thinking_budget = thinking.budget_tokens;
}

function toReasoning(thinking: unknown, effort: unknown): object | undefined {
  if (isObject(thinking)) {
    if (thinking.type === "disabled") return { enabled: false };
    if (typeof thinking.budget_tokens === "number") return { max_tokens: thinking.budget_tokens };
    if (typeof effort !== "string") return { enabled: true };
  }
  return typeof effort === "string" ? { effort } : undefined;
}

/**
 * Whether results are to be answered whose calls came back without their reasoning. Claude refuses that while it thinks
 * (https://platform.claude.com/docs/en/build-with-claude/extended-thinking#extended-thinking-with-tool-use).
 */
function lacksReasoning({ model, messages }: RequestBody): boolean {
  const turns = objectsIn(messages);
  const last = turns.findLastIndex(({ role }) => role === "assistant");
  const isAnswered = turns.slice(last + 1).some(({ role }) => role === "tool");
  return isAnswered && /claude/.test(String(model)) && objectsIn(turns[last]?.reasoning_details).length === 0;
}

/** Gemini's models that demand the signatures of calls back. */
const needsSignature = /^~?google\/gemini-(?:[3-9]|[a-z-]*latest)/;

/** A detail in place of one that a call of an earlier turn came with. */
const placeholderOf = (call: Record<string, unknown>): object => ({
  type: "reasoning.encrypted",
  id: call.id,
  data: "skip_thought_signature_validator",
  format: "google-gemini-v1",
  index: 0,
});

/**
 * A message of Gemini with calls needs the sealed detail that they came with. Most SDKs drop it, and other models have none: Google's
 * placeholder stands for it (https://ai.google.dev/gemini-api/docs/thought-signatures, https://github.com/cline/cline/issues/8214).
 */
function withDetail(message: Record<string, unknown>): Record<string, unknown> {
  const [call] = objectsIn(message.tool_calls);
  const details = objectsIn(message.reasoning_details);
  if (!call || details.some(({ type }) => type === "reasoning.encrypted")) return message;
  return { ...message, reasoning_details: [...details, placeholderOf(call)] };
}

/** OpenRouter's `reasoning` and `usage` (https://openrouter.ai/docs/use-cases/reasoning-tokens). */
export function toOpenrouter(body: RequestBody, { drop }: ConversionOptions): void {
  const { thinking, reasoning_effort: effort } = body;
  delete body.thinking;
  delete body.reasoning_effort;
  const reasoning = toReasoning(thinking, effort);
  if (reasoning && body.reasoning === undefined) body.reasoning = reasoning;
  if (isObject(body.reasoning) && body.reasoning.enabled !== false && lacksReasoning(body)) {
    drop("reasoning");
    body.reasoning = { enabled: false };
  }
  if (needsSignature.test(String(body.model))) body.messages = objectsIn(body.messages).map(withDetail);
  if (body.stream === true) {
    delete body.stream_options;
    body.usage = { ...(isObject(body.usage) && body.usage), include: true };
  }
}

const statusOfMinimax: Readonly<Record<number, number>> = { 1002: 429, 1004: 401, 1008: 402, 2013: 400 };

/** MiniMax reports failures with status 200 (https://platform.minimax.io/docs/api-reference/errorcode). */
export function checkMinimax({ base_resp: status }: Record<string, unknown>): void {
  if (!isObject(status)) return;
  const code = Number(status.status_code ?? 0);
  if (code === 0) return;
  throw new UpstreamError(statusOfMinimax[code] ?? 502, `minimax error: ${String(status.status_msg ?? code)}`, {
    provider: "minimax",
    code: String(code),
  });
}
