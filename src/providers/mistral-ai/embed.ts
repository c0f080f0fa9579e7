import type { OperationAdapter } from "../core/types.ts";
import { embeddingList } from "../shared/embeddings.ts";
import { requireStrings } from "../shared/inputs.ts";
import { copyMembers, type MemberMap } from "../shared/members.ts";
import { modelName } from "./request.ts";

const members = {
  dimensions: "output_dimension",
  output_dimension: "output_dimension",
  output_dtype: "output_dtype",
  encoding_format: "encoding_format",
  metadata: "metadata",
} satisfies MemberMap;

/** Embeddings (https://docs.mistral.ai/api/#tag/embeddings). */
export const embed: OperationAdapter<"embed"> = {
  path: () => "/embeddings",
  toUpstream: (request, { drop }) => ({
    ...copyMembers(request, members, { handled: ["model", "input"], kind: "embed", drop }),
    model: modelName(request.model),
    input: requireStrings("mistral-ai", request),
  }),
  fromUpstream: embeddingList,
};
