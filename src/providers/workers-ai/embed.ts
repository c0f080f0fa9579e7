import * as v from "valibot";
import type { OperationAdapter } from "../core/types.ts";
import { inBatches, requireNumbers, toEmbeddingAnswer } from "../shared/embeddings.ts";
import { modelPath } from "../shared/hosts.ts";
import { requireStrings } from "../shared/inputs.ts";
import { copyMembers } from "../shared/members.ts";

const Reply = v.looseObject({ result: v.looseObject({ data: v.array(v.array(v.number())) }) });

/** Embeddings (https://developers.cloudflare.com/workers-ai/models/). */
export const embed: OperationAdapter<"embed"> = {
  path: ({ model }) => modelPath(model),
  toUpstream(request, { drop }) {
    requireNumbers("workers-ai", request);
    const handled = ["model", "input", "encoding_format"];
    const members = { pooling: "pooling" };
    return {
      ...copyMembers(request, members, { handled, kind: "embed", drop }),
      text: requireStrings("workers-ai", request),
    };
  },
  fromUpstream: (body, request) => toEmbeddingAnswer(v.parse(Reply, body).result.data, request, undefined),
  ...inBatches(100),
};
