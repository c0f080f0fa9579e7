import type { CallerContext, Services } from "../context.ts";
import type { Dialect, DialectOptions } from "../dialects/types.ts";
import { GuardrailDeniedError } from "../errors.ts";
import { timeOfId } from "../lib/ids.ts";
import type { Reply } from "../lib/reply.ts";
import { doneEvent, encodeEvent } from "../lib/sse.ts";
import type { OperationName } from "../providers/operations.ts";
import { dialects, isDialect } from "./dialects.ts";
import { isStreamed } from "./operation.ts";
import { isStrict } from "./target.ts";

/** What the model would have said. */
const text = "A guardrail denied this request.";
const noTokens = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/** Members of a denial that its shape is made from. */
interface Denial {
  id: string;
  created: number;
  model: string;
  finish_reason: "stop" | "content_filter";
}

/** A denial as a chat's answer. */
function toChat({ id, created, model, finish_reason }: Denial) {
  const message = { role: "assistant" as const, content: text };
  return {
    ...{ id: `chatcmpl-${id}`, object: "chat.completion" as const, created, model },
    choices: [{ index: 0, message, logprobs: null, finish_reason }],
    usage: noTokens,
  };
}

/** A denial as the answer of a text completion. */
function toCompletion({ id, created, model, finish_reason }: Denial) {
  return {
    ...{ id: `cmpl-${id}`, object: "text_completion", created, model },
    choices: [{ index: 0, text, logprobs: null, finish_reason }],
    usage: noTokens,
  };
}

/** Chunks of a streamed chat that is denied. */
function toChunks({ id, created, model, finish_reason }: Denial) {
  const chunk = (delta: object, reason: string | null) => ({
    ...{ id: `chatcmpl-${id}`, object: "chat.completion.chunk", created, model },
    choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
  });
  return [chunk({ role: "assistant", content: text }, null), chunk({}, finish_reason)];
}

/** Text of a streamed answer, in the form of the operation. */
function writeStream(
  name: OperationName,
  denial: Denial,
  { request, options, hookResults }: { request: object; options: DialectOptions; hookResults: object | undefined },
): string {
  if (isDialect(name)) {
    const dialect: Dialect<object, object> = dialects[name];
    const events = dialect.createEvents(request, options);
    const made = [...toChunks(denial).flatMap((chunk) => events.push(chunk)), ...events.end(noTokens)];
    const last = made.at(-1);
    const told = made.map((event) => (event === last ? { ...event, hook_results: hookResults } : event));
    return told.map((event) => dialect.encode(event)).join("");
  }
  const chunks = name === "complete" ? [toCompletion(denial)] : toChunks(denial);
  const last = chunks.length - 1;
  const told = chunks.map((chunk, index) => (index === last ? { ...chunk, hook_results: hookResults } : chunk));
  return told.map((chunk) => encodeEvent(chunk)).join("") + doneEvent;
}

/** Operations whose answers hold a text that can tell of a denial. */
function hasText(name: OperationName | undefined): name is OperationName {
  return name === "chat" || name === "complete" || (name !== undefined && isDialect(name));
}

/**
 * The answer with status 200 to a request a guardrail denied softly, in the shape of its operation. Everything else that
 * was thrown is thrown again.
 */
export function answerSoftly(
  thrown: unknown,
  request: object,
  { operation: name, context, services }: { operation?: OperationName; context: CallerContext; services: Services },
): Reply {
  if (!(thrown instanceof GuardrailDeniedError) || !thrown.isSoft || !hasText(name)) throw thrown;
  const { id, log } = context;
  const { hookResults } = thrown;
  const created = Math.floor(timeOfId(id) / 1000);
  const finish_reason = isStrict(context) ? "stop" : "content_filter";
  const denial: Denial = { id, created, model: log.model ?? "", finish_reason };
  const options: DialectOptions = { id, created, now: () => Math.floor(services.clock.now() / 1000), drop: () => {} };
  const headers = { ...thrown.headers, "content-type": "application/json" };
  // a whole answer of this one is a stream of one slice
  if (isStreamed(name, request) && name !== "generateContent") {
    headers["content-type"] = "text/event-stream; charset=utf-8";
    const body = writeStream(name, denial, { request, options, hookResults });
    log.responseBody = body;
    return { status: 200, headers, body };
  }
  const dialect: Dialect<object, object> | undefined = isDialect(name) ? dialects[name] : undefined;
  const chat = toChat(denial);
  const answer = dialect?.fromChat(chat, request, options) ?? (name === "complete" ? toCompletion(denial) : chat);
  const body = JSON.stringify({ ...answer, hook_results: hookResults });
  log.responseBody = body;
  return { status: 200, headers, body };
}
