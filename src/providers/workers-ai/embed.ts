import * as v from "valibot";
import { toEmbeddingAnswer } from "../shapes/answers.ts";
import { modelPath } from "../shapes/hosts.ts";
import { requireTexts } from "../shapes/inputs.ts";
import { copyMembers } from "../shapes/members.ts";
import { refuseMember } from "../shapes/messages.ts";
import type { OperationAdapter } from "../types.ts";

const Reply = v.looseObject({ result: v.looseObject({ data: v.array(v.array(v.number())) }) });

/** Embeddings (https://developers.cloudflare.com/workers-ai/models/). */
export const embed: OperationAdapter<"embed"> = {
  path: ({ model }) => modelPath(model),
  toUpstream(request, { drop }) {
    const format = request.encoding_format;
    if (format && format !== "float") refuseMember("workers-ai", "encoding_format", "it gives vectors as numbers only");
    const handled = ["model", "input", "encoding_format"];
    const members = { pooling: "pooling" };
    return { text: requireTexts("workers-ai", request), ...copyMembers(request, members, { handled, drop }) };
  },
  fromUpstream: (body, { model }) => toEmbeddingAnswer(v.parse(Reply, body).result.data, model, undefined),
};
