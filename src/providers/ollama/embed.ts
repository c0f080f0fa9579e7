import * as v from "valibot";
import type { OperationAdapter } from "../core/types.ts";
import { requireNumbers, toEmbeddingAnswer } from "../shared/embeddings.ts";
import { requireStrings } from "../shared/inputs.ts";
import { copyMembers, type MemberMap } from "../shared/members.ts";
import { tokenCount } from "../shared/token-count.ts";

const Reply = v.looseObject({
  embeddings: v.array(v.array(v.number())),
  prompt_eval_count: tokenCount,
});

const members = {
  dimensions: "dimensions",
  truncate: "truncate",
  options: "options",
  keep_alive: "keep_alive",
} satisfies MemberMap;

/** Embeddings (https://github.com/ollama/ollama/blob/main/docs/api.md#generate-embeddings). */
export const embed: OperationAdapter<"embed"> = {
  path: () => "/api/embed",
  toUpstream(request, { drop }) {
    const { model } = request;
    requireNumbers("ollama", request);
    const handled = ["model", "input", "encoding_format"];
    return {
      ...copyMembers(request, members, { handled, kind: "embed", drop }),
      model,
      input: requireStrings("ollama", request),
    };
  },
  fromUpstream(body, request) {
    const { embeddings, prompt_eval_count: tokens } = v.parse(Reply, body);
    return toEmbeddingAnswer(embeddings, request, tokens);
  },
};
