import * as v from "valibot";
import { toSeconds } from "../core/records.ts";
import type { OperationAdapter } from "../core/types.ts";
import { toLimits } from "../shared/model-limits.ts";
import { WireModels } from "./wire.ts";

/** Models of the account (https://docs.claude.com/en/api/models-list), with the largest page size and their own members. */
export const models: OperationAdapter<"models"> = {
  method: "GET",
  path: () => "/models?limit=1000",
  fromUpstream(body) {
    const { data } = v.parse(WireModels, body);
    return {
      object: "list",
      data: data.map((model) => ({
        ...model,
        object: "model",
        created: toSeconds(model.created_at) ?? 0,
        owned_by: "anthropic",
        ...toLimits(model.max_input_tokens, model.max_tokens),
      })),
    };
  },
};
