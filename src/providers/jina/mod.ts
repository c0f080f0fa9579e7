import * as v from "valibot";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import { embeddingList } from "../shared/embeddings.ts";
import { type MediaInput, readInputs } from "../shared/media-inputs.ts";
import { refuseMember } from "../shared/messages.ts";
import { rerankLikeCohere } from "../shared/rerank.ts";

/** An input in Jina's form: a string, or an object with one field, a URL or plain base64. */
function toInput({ text, image, video, sent }: MediaInput): unknown {
  const media = { ...(image && { image }), ...(video && { video }) };
  const [first, ...more] = Object.entries(media);
  if (first === undefined) return sent;
  if (more.length > 0 || text !== undefined) {
    refuseMember("jina", "input", "an input is a text, an image or a video, and only one of them");
  }
  const [name, { url, base64 }] = first;
  return { [name]: url ?? base64 };
}

/** Jina AI (https://api.jina.ai/docs). */
export const jina = defineProvider({
  slug: "jina",
  settings: { prefix: "jina", schema: v.object({}) },
  baseUrl: "https://api.jina.ai/v1",
  authenticate: bearer,
  operations: {
    embed: {
      path: () => "/embeddings",
      toUpstream(request, { drop }) {
        const { user, encoding_format: format, ...rest } = request;
        if (user !== undefined && user !== null) drop("user");
        const inputs = readInputs("jina", request).map(toInput);
        const [only] = inputs;
        // vectors are numbers by default
        const form = format && format !== "float" ? { embedding_type: format } : {};
        return { ...form, ...rest, input: Array.isArray(request.input) ? inputs : only };
      },
      fromUpstream: embeddingList,
    },
    rerank: rerankLikeCohere({
      path: "/rerank",
      members: { top_n: "top_n", return_documents: "return_documents", truncation: "truncation" },
    }),
  },
});
