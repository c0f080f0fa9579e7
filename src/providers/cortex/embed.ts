import * as v from "valibot";
import type { OperationAdapter } from "../core/types.ts";
import { encodeVector, requireNumbers } from "../shared/embeddings.ts";
import { requireStrings } from "../shared/inputs.ts";
import { copyMembers } from "../shared/members.ts";
import { EmbedAnswer } from "./wire.ts";

/** Embeddings (https://docs.snowflake.com/en/user-guide/snowflake-cortex/cortex-rest-api). */
export const embed: OperationAdapter<"embed"> = {
  path: () => "/cortex/inference:embed",
  toUpstream(request, { drop }) {
    requireNumbers("cortex", request);
    const handled = ["model", "input", "encoding_format"];
    return {
      ...copyMembers(request, {}, { handled, kind: "embed", drop }),
      model: request.model,
      text: requireStrings("cortex", request),
    };
  },
  fromUpstream(body, request) {
    const { model, data, usage } = v.parse(EmbedAnswer, body);
    const total = usage?.total_tokens ?? usage?.prompt_tokens ?? 0;
    return {
      object: "list",
      data: data.map(({ embedding, index }, place) => ({
        object: "embedding",
        index: index ?? place,
        embedding: encodeVector(Array.isArray(embedding[0]) ? embedding[0] : embedding, request),
      })),
      model: model ?? request.model,
      usage: { prompt_tokens: total, total_tokens: total },
    };
  },
};
