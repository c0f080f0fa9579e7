import * as v from "valibot";
import { defineProvider } from "../core/define.ts";
import { keyHeader } from "../core/headers.ts";
import { rerank } from "./rerank.ts";

const pineconeKey = keyHeader("api-key");

/** Pinecone (https://docs.pinecone.io/reference/api/authentication). */
export const pinecone = defineProvider({
  slug: "pinecone",
  settings: {
    prefix: "pinecone",
    open: true,
    schema: v.object({
      api_version: v.optional(v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,30}$/, "must be a version")), "2025-10"),
    }),
  },
  baseUrl: "https://api.pinecone.io",
  authenticate: (credential, { api_version }) => ({
    ...pineconeKey(credential),
    "x-pinecone-api-version": api_version,
  }),
  operations: { rerank },
});
