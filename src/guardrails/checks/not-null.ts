import * as v from "valibot";
import { isObject, objectsIn } from "../../lib/json.ts";
import { afterOnly, type Body, type Check } from "../types.ts";

const NotNull = v.object({ not: v.optional(v.boolean(), false) });

const isFilled = (list: unknown): boolean => Array.isArray(list) && list.length > 0;

/** Blocks and items that call the caller's tools. After a call of a provider's own tool, text is still expected. */
const callTypes: ReadonlySet<unknown> = new Set([
  "tool_use",
  "function_call",
  "custom_tool_call",
  "computer_call",
  "local_shell_call",
  "shell_call",
  "apply_patch_call",
]);

const isCall = ({ type }: Record<string, unknown>): boolean => callTypes.has(type);

/** Whether a response of any API calls tools. */
function callsTools({ choices, content, output, candidates }: Body): boolean {
  const messages = objectsIn(choices).map(({ message }) => message);
  const turns = objectsIn(candidates).map((candidate) => candidate.content);
  return (
    messages.some((one) => isObject(one) && (isFilled(one.tool_calls) || isObject(one.function_call))) ||
    objectsIn(content).some(isCall) ||
    objectsIn(output).some(isCall) ||
    turns.some((turn) => isObject(turn) && objectsIn(turn.parts).some(({ functionCall }) => isObject(functionCall)))
  );
}

/** Whether a response has text. Responses that call tools need not have any. */
export const notNull: Check<v.InferOutput<typeof NotNull>> = {
  id: "default.notNull",
  phases: afterOnly,
  parameters: NotNull,
  run({ text, response, work }, { not }) {
    if (response && callsTools(response.body)) return { pass: true, isSkipped: true };
    const isText = work.spend(() => /\S/.test(text));
    const explanation = `The response has ${isText ? "a" : "no"} text, expected ${not ? "none" : "one"}`;
    return { pass: isText !== not, data: { explanation, not } };
  },
};
