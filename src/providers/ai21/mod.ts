import * as v from "valibot";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import type { OperationAdapter } from "../core/types.ts";
import { refuseMember } from "../shared/messages.ts";
import { plainChat } from "../shared/plain.ts";
import { embed } from "./embed.ts";

const jambaChat = plainChat("ai21", () => "/chat/completions");

const chat: OperationAdapter<"chat"> = {
  ...jambaChat,
  toUpstream(request, options) {
    // https://docs.ai21.com/docs/jurassic-2-models
    if (/^j(?:1|2|urassic)\b/.test(request.model)) {
      refuseMember(
        "ai21",
        "model",
        "Jurassic models ended on November 14, 2024; use a Jamba model, such as jamba-large",
      );
    }
    return jambaChat.toUpstream?.(request, options);
  },
};

/** AI21 Labs (https://docs.ai21.com/reference/jamba-1-6-api-ref). */
export const ai21 = defineProvider({
  slug: "ai21",
  settings: { prefix: "ai21", schema: v.object({}) },
  baseUrl: "https://api.ai21.com/studio/v1",
  authenticate: bearer,
  operations: { chat, embed },
});
