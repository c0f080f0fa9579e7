import { ApiError } from "@/api/client.ts";
import { asObject, isJsonObject, type JsonObject, textOf } from "@/lib/json.ts";
import { createMessage, type Message, type ToolCall } from "./messages.ts";

interface Usage {
  readonly prompt: number;
  readonly completion: number;
  /** Part of the completion. */
  readonly reasoning: number;
  /** Part of the prompt. */
  readonly cached: number;
}

/** A call of a tool that the gateway ran for the model. */
interface RanTool {
  /** Slug of the MCP server. */
  readonly server: string;
  readonly name: string;
  /** JSON as the model wrote it. */
  readonly arguments: string;
  readonly output: string;
  readonly isError: boolean;
}

/** A response of a model as far as it has arrived. */
export interface Answer {
  readonly state: "waiting" | "streaming" | "done" | "stopped" | "failed";
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCall[];
  /** Tools that the gateway ran. */
  readonly ran: readonly RanTool[];
  /** Why the model stopped. */
  readonly finish: string;
  /** Milliseconds until the first piece, and until the end. */
  readonly firstMs: number | undefined;
  readonly totalMs: number | undefined;
  readonly usage: Usage | undefined;
  /** Id of the request's log row. */
  readonly requestId: string;
  /** US dollars; null: unknown, because the model has no price. */
  readonly cost: number | null | undefined;
  /** Provider and target that answered. */
  readonly provider: string;
  readonly target: string;
  readonly cache: string;
  /** A guardrail that does not deny objected. */
  readonly objected: boolean;
  readonly error: unknown;
}

export const emptyAnswer: Answer = {
  state: "waiting",
  text: "",
  reasoning: "",
  toolCalls: [],
  ran: [],
  finish: "",
  firstMs: undefined,
  totalMs: undefined,
  usage: undefined,
  requestId: "",
  cost: undefined,
  provider: "",
  target: "",
  cache: "",
  objected: false,
  error: undefined,
};

const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0);

function readUsage(body: JsonObject): Usage | undefined {
  const { usage } = body;
  if (!isJsonObject(usage)) return undefined;
  return {
    prompt: numberOf(usage.prompt_tokens),
    completion: numberOf(usage.completion_tokens),
    reasoning: numberOf(asObject(usage.completion_tokens_details).reasoning_tokens),
    cached: numberOf(asObject(usage.prompt_tokens_details).cached_tokens),
  };
}

/** The tool calls after one more piece of a stream: pieces of one call have its place. */
function withPieces(calls: readonly ToolCall[], pieces: unknown): readonly ToolCall[] {
  if (!Array.isArray(pieces)) return calls;
  const all = [...calls];
  for (const piece of pieces.filter(isJsonObject)) {
    const place = typeof piece.index === "number" ? piece.index : all.length;
    const known = all[place] ?? { id: "", name: "", arguments: "" };
    all[place] = {
      id: known.id || textOf(piece.id),
      name: known.name + textOf(asObject(piece.function).name),
      arguments: known.arguments + textOf(asObject(piece.function).arguments),
    };
  }
  return all.filter((call) => call !== undefined);
}

/** The error a body or an event of a stream holds. */
export function readError(body: JsonObject): ApiError | undefined {
  if (body.error === undefined || body.error === null) return undefined;
  const message = textOf(asObject(body.error).message) || textOf(body.message) || textOf(body.error);
  return new ApiError(message, { status: 0, code: textOf(asObject(body.error).code), traceId: "" });
}

/** An answer with one more event of its stream, or with the whole body. */
export function addTo(answer: Answer, body: unknown): Answer {
  if (!isJsonObject(body)) return answer;
  const error = readError(body);
  if (error !== undefined) return { ...answer, state: "failed", error };
  const usage = readUsage(body) ?? answer.usage;
  const choice = Array.isArray(body.choices) ? body.choices.find(isJsonObject) : undefined;
  if (choice === undefined) return { ...answer, usage };
  const piece = isJsonObject(choice.delta) ? choice.delta : isJsonObject(choice.message) ? choice.message : choice;
  const content = typeof piece.content === "string" ? piece.content : textOf(piece.text);
  return {
    ...answer,
    usage,
    text: answer.text + content + textOf(piece.refusal),
    reasoning: answer.reasoning + (textOf(piece.reasoning_content) || textOf(piece.reasoning)),
    toolCalls: withPieces(answer.toolCalls, piece.tool_calls),
    finish: textOf(choice.finish_reason) || answer.finish,
  };
}

/** The answer as a message of the conversation that goes on. */
export function toMessage({ text, toolCalls }: Answer): Message {
  return createMessage("assistant", text, { toolCalls });
}

/** Tokens per second after the first one. */
export function speedOf({ usage, firstMs, totalMs, state }: Answer): number | undefined {
  if (state !== "done" || usage === undefined || totalMs === undefined || usage.completion < 2) return undefined;
  const streamed = firstMs === undefined ? totalMs : totalMs - firstMs;
  // one response in one piece has no speed of its own
  const span = streamed < 5 ? totalMs : streamed;
  return span <= 0 ? undefined : (usage.completion * 1000) / span;
}
