import type { CallerContext } from "../../context.ts";
import type { Dialect, DialectOptions } from "../../dialects/types.ts";
import { GuardrailDeniedError } from "../../errors.ts";
import type { Body } from "../../guardrails/types.ts";
import { timeOfId } from "../../lib/ids.ts";
import type { Reply } from "../../lib/reply.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import { dialects, isDialect } from "../adapt/dialects.ts";
import { isStreamed, operationFacts } from "../facts/operation-facts.ts";
import { withStreamResults } from "../stream/guard-stages.ts";
import { replay } from "../stream/replay.ts";
import { isStrict } from "../target/target.ts";

/** The text in place of the model's. */
const text = "A guardrail denied this request.";
const noTokens = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/** Parts of a denial that a response is made of. */
interface Denial {
  id: string;
  created: number;
  model: string;
  finish_reason: "stop" | "content_filter";
}

/** A denial as a chat response. */
function toChat({ id, created, model, finish_reason }: Denial) {
  const message = { role: "assistant" as const, content: text };
  return {
    id: `chatcmpl-${id}`,
    object: "chat.completion" as const,
    created,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason }],
    usage: noTokens,
  };
}

/** A denial as a text completion. */
function toCompletion({ id, created, model, finish_reason }: Denial) {
  return {
    id: `cmpl-${id}`,
    object: "text_completion",
    created,
    model,
    choices: [{ index: 0, text, logprobs: null, finish_reason }],
    usage: noTokens,
  };
}

/** Operations whose responses have a text that can hold a denial. */
function hasText(name: OperationName): boolean {
  return name === "chat" || name === "complete" || isDialect(name);
}

/** The denial as a non-streaming response of the operation. */
function toAnswer(name: OperationName, denial: Denial, request: object, options: DialectOptions): Body {
  if (name === "complete") return toCompletion(denial);
  const chat = toChat(denial);
  if (!isDialect(name)) return chat;
  const dialect: Dialect<object, object> = dialects[name];
  return { ...dialect.fromChat(chat, request, options) };
}

/**
 * The response with status 200 to a request that a guardrail denied softly, in the shape of its operation. Every other
 * error is thrown again.
 */
export function answerSoftly(
  thrown: unknown,
  request: object,
  { operation: name, context }: { operation: OperationName; context: CallerContext },
): Reply {
  if (!(thrown instanceof GuardrailDeniedError) || !thrown.isSoft || !hasText(name)) throw thrown;
  const { id, log } = context;
  const { hookResults } = thrown;
  const said = { before: log.hooks?.before ?? [], after: log.hooks?.after ?? [] };
  const created = Math.floor(timeOfId(id) / 1000);
  const finish_reason = isStrict(context) ? "stop" : "content_filter";
  const denial: Denial = { id, created, model: log.model ?? "", finish_reason };
  const options: DialectOptions = {
    id,
    created,
    now: () => Math.floor(context.services.clock.now() / 1000),
    drop: () => {},
  };
  const answer = toAnswer(name, denial, request, options);
  const { requestType, replays } = operationFacts[name];
  const isStream = replays && isStreamed(name, request);
  const body = isStream
    ? withStreamResults(replay(requestType, answer, { includeUsage: false }), {
        requestType,
        strict: isStrict(context),
        ...said,
      })
    : JSON.stringify({ ...answer, hook_results: hookResults });
  const shown = context.numbers?.restore(body) ?? body;
  log.responseBody = shown;
  log.isDenied = true;
  const type = isStream ? "text/event-stream; charset=utf-8" : "application/json";
  return { status: 200, headers: { ...thrown.headers, "content-type": type }, body: shown };
}
