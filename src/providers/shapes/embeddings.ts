import * as v from "valibot";
import { EmbeddingResponse } from "../../schemas/embeddings.ts";

/** Lists in OpenAI's form; where only all tokens are counted, they are those of the input. */
export function embeddingList(body: unknown, { model: asked }: { model: string }): EmbeddingResponse {
  const { data, model, usage } = v.parse(EmbeddingResponse, body);
  const tokens = usage?.prompt_tokens ?? usage?.total_tokens;
  return {
    ...{ object: "list", data, model: model ?? asked },
    ...(typeof tokens === "number" && {
      usage: { prompt_tokens: tokens, total_tokens: usage?.total_tokens ?? tokens },
    }),
  };
}
