import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import { callId, toArguments, type UnifiedToolCall } from "../shared/answers.ts";

const text = v.nullish(v.string());

const ToolCall = v.looseObject({
  id: text,
  name: text,
  arguments: v.nullish(v.unknown()),
  function: v.nullish(v.looseObject({ name: text, arguments: v.nullish(v.unknown()) })),
});
type ToolCall = v.InferOutput<typeof ToolCall>;

/** What a model of the older kind says, whole or as an event of a stream. */
export const Result = v.looseObject({
  // an object where JSON was asked for
  response: v.nullish(v.unknown()),
  tool_calls: v.nullish(v.array(ToolCall)),
  usage: v.nullish(v.unknown()),
});

/** An answer: newer models put OpenAI's form into it. */
export const Reply = v.looseObject({ result: v.looseObject({}) });

/** Whether this is OpenAI's form. */
export function isOpenaiForm(value: unknown): boolean {
  return isObject(value) && Array.isArray(value.choices);
}

/** The text of a response, in whichever form it is. */
export function toText(response: unknown): string {
  if (typeof response === "string") return response;
  return response === undefined || response === null ? "" : JSON.stringify(response);
}

/** The upstream's calls of tools in the gateway's shape. */
export function toToolCalls(calls: readonly ToolCall[] | null | undefined, answerId: string): UnifiedToolCall[] {
  return (calls ?? []).map((call, index) => ({
    id: call.id ?? callId(answerId, index),
    type: "function",
    function: {
      name: call.function?.name ?? call.name ?? "",
      arguments: toArguments(call.function?.arguments ?? call.arguments),
    },
  }));
}
