import { encodeEvent } from "../../lib/sse.ts";
import type { MessagesRequest, MessagesResponse } from "../../schemas/messages.ts";
import type { Dialect } from "../types.ts";
import { createEvents } from "./events.ts";
import { fromChat } from "./from-chat.ts";
import { toChat } from "./to-chat.ts";

/** Anthropic's Messages API over chat (https://docs.claude.com/en/api/messages). */
export const messagesDialect: Dialect<MessagesRequest, MessagesResponse> = {
  toChat,
  fromChat,
  createEvents,
  encode: (event) => encodeEvent(event, String(event.type)),
};
