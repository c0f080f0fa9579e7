import { isObject } from "../../lib/json.ts";
import type { ResponsesRequest } from "../../schemas/responses.ts";
import type { CallFailure, ConversionOptions } from "./types.ts";

type Item = Readonly<Record<string, unknown>>;

/** Words of OpenAI and of xAI for sealed reasoning that they cannot open. */
const namesSeal = /encrypted[ _]content|compaction blob/i;

/** Whether a host of the Responses API refused reasoning because another host or account sealed it. */
export const refusesSeal = ({ status, message }: CallFailure): boolean =>
  status >= 400 && status <= 422 && namesSeal.test(message);

const isReasoning = ({ type }: Item): boolean => type === "reasoning";

/** An item without its id, which ties it to the reasoning that was before it. */
function withoutId(item: Item): Item {
  const { id: _, ...rest } = item;
  return rest;
}

/**
 * The request without reasoning, to be sent again after a host refused what another one sealed
 * (https://platform.openai.com/docs/guides/reasoning#keeping-reasoning-items-in-context). Undefined for other failures.
 */
export function withoutSealedReasoning(
  request: ResponsesRequest,
  failure: CallFailure,
  { drop }: ConversionOptions,
): ResponsesRequest | undefined {
  const { input } = request;
  if (!refusesSeal(failure) || !Array.isArray(input) || !input.some(isReasoning)) return undefined;
  drop("input.reasoning");
  return {
    ...request,
    input: input.filter((item) => isObject(item) && !isReasoning(item)).map(withoutId),
  };
}
