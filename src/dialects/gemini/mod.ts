import { encodeEvent } from "../../lib/sse.ts";
import type { GenerateContentRequest, GenerateContentResponse } from "../../schemas/gemini.ts";
import type { Dialect } from "../types.ts";
import { createEvents } from "./events.ts";
import { fromChat } from "./from-chat.ts";
import { toChat } from "./to-chat.ts";

/** Google's Gemini API over chat (https://ai.google.dev/api/generate-content). */
export const geminiDialect: Dialect<GenerateContentRequest, GenerateContentResponse> = {
  toChat,
  fromChat,
  createEvents,
  encode: (event) => encodeEvent(event),
};
