import * as v from "valibot";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import type { OperationAdapter } from "../core/types.ts";
import { plainChat } from "../shared/plain.ts";
import { complete, embed, isJurassic, jurassicChat } from "./jurassic.ts";

const jambaChat = plainChat("ai21", () => "/chat/completions");

/** Jurassic models have a separate API; all other models use OpenAI's format. */
const chat: OperationAdapter<"chat"> = {
  path: (request) => (isJurassic(request) ? jurassicChat : jambaChat).path(request),
  toUpstream: (request, options) => (isJurassic(request) ? jurassicChat : jambaChat).toUpstream?.(request, options),
  fromUpstream(body, request, options) {
    const answer = (isJurassic(request) ? jurassicChat : jambaChat).fromUpstream?.(body, request, options);
    return answer ?? { choices: [] };
  },
  ...(jambaChat.streamMapper && { streamMapper: jambaChat.streamMapper }),
};

/** AI21 Labs (https://docs.ai21.com/reference/jamba-1-6-api-ref). */
export const ai21 = defineProvider({
  slug: "ai21",
  settings: { prefix: "ai21", schema: v.object({}) },
  baseUrl: "https://api.ai21.com/studio/v1",
  authenticate: bearer,
  operations: { chat, complete, embed },
});
