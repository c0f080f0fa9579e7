import * as v from "valibot";
import { toSeconds } from "../core/records.ts";
import type { OperationAdapter } from "../core/types.ts";
import { WireModels } from "./wire.ts";

/** Models of the account (https://docs.claude.com/en/api/models-list), with the largest page size. */
export const models: OperationAdapter<"models"> = {
  method: "GET",
  path: () => "/models?limit=1000",
  fromUpstream(body) {
    const { data } = v.parse(WireModels, body);
    return {
      object: "list",
      data: data.map(({ id, created_at: time, display_name: name }) => ({
        id,
        object: "model",
        created: toSeconds(time) ?? 0,
        owned_by: "anthropic",
        ...(name && { display_name: name }),
      })),
    };
  },
};
