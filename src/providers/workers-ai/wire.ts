import * as v from "valibot";
import { isObject, valueText } from "../../lib/json.ts";
import { callId, toArguments, type UnifiedToolCall } from "../shared/answers.ts";

const text = v.nullish(v.string());

const ToolCall = v.looseObject({
  id: text,
  name: text,
  arguments: v.nullish(v.unknown()),
  function: v.nullish(v.looseObject({ name: text, arguments: v.nullish(v.unknown()) })),
});
type ToolCall = v.InferOutput<typeof ToolCall>;

/** Response of a legacy model, complete or as a stream event. */
export const Result = v.looseObject({
  // an object when JSON was requested
  response: v.nullish(v.unknown()),
  tool_calls: v.nullish(v.array(ToolCall)),
  usage: v.nullish(v.unknown()),
});

/** A response; newer models nest OpenAI's form in it. */
export const Reply = v.looseObject({ result: v.looseObject({}) });

/** Whether the response is in OpenAI's form. */
export function isOpenaiForm(value: unknown): boolean {
  return isObject(value) && Array.isArray(value.choices);
}

/** The text of a response in any form. */
export function responseText(response: unknown): string {
  return response === undefined || response === null ? "" : valueText(response);
}

/** The upstream's tool calls in the gateway's shape. */
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
