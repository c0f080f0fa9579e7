import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { encodeVector, requireNumbers } from "../shapes/embeddings.ts";
import type { OperationAdapter } from "../types.ts";
import { EmbedAnswer } from "./wire.ts";

/** Embeddings (https://docs.snowflake.com/en/user-guide/snowflake-cortex/cortex-rest-api). */
export const embed: OperationAdapter<"embed"> = {
  path: () => "/cortex/inference:embed",
  toUpstream({ model, input, encoding_format: encoding, ...rest }, { drop }) {
    const texts = typeof input === "string" ? [input] : input.filter((one) => typeof one === "string");
    if (texts.length === 0 || (Array.isArray(input) && texts.length !== input.length)) {
      throw new InvalidRequestError("Invalid input: cortex takes texts", { param: "input", code: "invalid_value" });
    }
    requireNumbers("cortex", { model, encoding_format: encoding });
    for (const [name, value] of Object.entries(rest)) if (value !== null && value !== undefined) drop(name);
    return { model, text: texts };
  },
  fromUpstream(body, request) {
    const { model, data, usage } = v.parse(EmbedAnswer, body);
    const total = usage?.total_tokens ?? usage?.prompt_tokens ?? 0;
    return {
      object: "list",
      data: data.map(({ embedding, index }, place) => ({
        ...{ object: "embedding", index: index ?? place },
        embedding: encodeVector(Array.isArray(embedding[0]) ? embedding[0] : embedding, request),
      })),
      model: model ?? request.model,
      usage: { prompt_tokens: total, total_tokens: total },
    };
  },
};
