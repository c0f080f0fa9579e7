import * as v from "valibot";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import type { OperationAdapter } from "../core/types.ts";
import { requireNumbers, toEmbeddingAnswer } from "../shared/embeddings.ts";
import { requireStrings } from "../shared/inputs.ts";
import { copyMembers, type MemberMap } from "../shared/members.ts";
import { tokenCount } from "../shared/token-count.ts";

const Reply = v.looseObject({
  embeddings: v.array(v.array(v.number())),
  usage: v.nullish(v.looseObject({ prompt_tokens: tokenCount, total_tokens: tokenCount })),
});

const members = {
  task_type: "task_type",
  dimensions: "dimensionality",
  dimensionality: "dimensionality",
  long_text_mode: "long_text_mode",
  max_tokens_per_text: "max_tokens_per_text",
} satisfies MemberMap;

const embed: OperationAdapter<"embed"> = {
  path: () => "/embedding/text",
  toUpstream(request, { drop }) {
    const { model } = request;
    requireNumbers("nomic", request);
    const handled = ["model", "input", "encoding_format"];
    return {
      ...copyMembers(request, members, { handled, kind: "embed", drop }),
      model,
      texts: requireStrings("nomic", request),
    };
  },
  fromUpstream(body, request) {
    const { embeddings, usage } = v.parse(Reply, body);
    return toEmbeddingAnswer(embeddings, request, usage?.prompt_tokens ?? usage?.total_tokens);
  },
};

/** Nomic (https://docs.nomic.ai/reference/api/embed-text-v-1-embedding-text-post). */
export const nomic = defineProvider({
  slug: "nomic",
  settings: { prefix: "nomic", schema: v.object({}) },
  baseUrl: "https://api-atlas.nomic.ai/v1",
  authenticate: bearer,
  operations: { embed },
});
