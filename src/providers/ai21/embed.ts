import * as v from "valibot";
import type { OperationAdapter } from "../core/types.ts";
import { requireNumbers, toEmbeddingAnswer } from "../shared/embeddings.ts";
import { requireStrings } from "../shared/inputs.ts";
import { copyMembers } from "../shared/members.ts";

const EmbedReply = v.looseObject({ results: v.array(v.looseObject({ embedding: v.array(v.number()) })) });

/**
 * Embeddings (https://docs.ai21.com/reference/embeddings-ref). There is only one model, so the request names no model.
 */
export const embed: OperationAdapter<"embed"> = {
  path: () => "/embed",
  toUpstream(request, { drop }) {
    requireNumbers("ai21", request);
    const handledHere = ["model", "input", "encoding_format"];
    const copied = copyMembers(request, { type: "type" }, { handled: handledHere, kind: "embed", drop });
    return { ...copied, texts: requireStrings("ai21", request) };
  },
  fromUpstream(body, request) {
    const vectors = v.parse(EmbedReply, body).results.map(({ embedding }) => embedding);
    return toEmbeddingAnswer(vectors, request, undefined);
  },
};
