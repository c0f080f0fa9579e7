import * as v from "valibot";
import type { OperationAdapter } from "../core/types.ts";
import { joinEmbeddings, toEmbeddingAnswer } from "../shared/embeddings.ts";
import { copyMembers, type MemberMap, toList } from "../shared/members.ts";
import { tokenCount } from "../shared/token-count.ts";
import { splitForCohere, toCohereInputs } from "./inputs.ts";

const Reply = v.looseObject({
  embeddings: v.record(v.string(), v.nullish(v.array(v.unknown()))),
  meta: v.nullish(
    v.looseObject({
      billed_units: v.nullish(v.looseObject({ input_tokens: tokenCount })),
      tokens: v.nullish(v.looseObject({ input_tokens: tokenCount })),
    }),
  ),
});

const members = {
  dimensions: "output_dimension",
  output_dimension: "output_dimension",
  encoding_format: ["embedding_types", toList],
  embedding_types: ["embedding_types", toList],
  input_type: "input_type",
  truncate: "truncate",
  max_tokens: "max_tokens",
  priority: "priority",
} satisfies MemberMap;

/** Embeddings (https://docs.cohere.com/reference/embed). */
export const embed: OperationAdapter<"embed"> = {
  path: () => "/v2/embed",
  toUpstream: (request, { drop }) => ({
    // required since embed v3; this value suits text of unknown use
    input_type: "search_document",
    embedding_types: ["float"],
    ...copyMembers(request, members, { handled: ["model", "input"], kind: "embed", drop }),
    model: request.model,
    ...toCohereInputs("cohere", request),
  }),
  fromUpstream(body, request) {
    const { embeddings, meta } = v.parse(Reply, body);
    const [vectors] = Object.values(embeddings).filter((list) => list && list.length > 0);
    return toEmbeddingAnswer(vectors ?? [], request, meta?.billed_units?.input_tokens ?? meta?.tokens?.input_tokens);
  },
  split: splitForCohere,
  join: joinEmbeddings,
};
