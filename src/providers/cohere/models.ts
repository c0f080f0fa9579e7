import * as v from "valibot";
import type { OperationAdapter } from "../core/types.ts";

const Reply = v.looseObject({ models: v.array(v.looseObject({ name: v.string() })) });

/** Models (https://docs.cohere.com/reference/list-models). */
export const models: OperationAdapter<"models"> = {
  method: "GET",
  path: () => "/v1/models",
  fromUpstream: (body) => ({
    object: "list",
    data: v
      .parse(Reply, body)
      .models.map(({ name }) => ({ id: name, object: "model", created: 0, owned_by: "cohere" })),
  }),
};
