import * as v from "valibot";
import type { OperationAdapter } from "../types.ts";
import { WireModels } from "./wire.ts";

function toSeconds(time: string | null | undefined): number {
  const milliseconds = Date.parse(time ?? "");
  return Number.isNaN(milliseconds) ? 0 : Math.floor(milliseconds / 1_000);
}

/** Models of the account (https://docs.claude.com/en/api/models-list), as many as one page holds. */
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
        created: toSeconds(time),
        owned_by: "anthropic",
        ...(name && { display_name: name }),
      })),
    };
  },
};
