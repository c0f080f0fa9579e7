import { isObject } from "../../lib/json.ts";
import { encodeEvent } from "../../lib/sse.ts";
import type { ResponsesRequest, ResponsesResponse } from "../../schemas/responses.ts";
import type { Dialect } from "../types.ts";
import { createEvents, ResponseMaker } from "./events.ts";
import { toChat } from "./to-chat.ts";

/** OpenAI's Responses API over chat (https://platform.openai.com/docs/api-reference/responses). */
export const responsesDialect: Dialect<ResponsesRequest, ResponsesResponse> = {
  toChat,
  fromChat(answer, request, options) {
    const maker = new ResponseMaker(request, options);
    maker.push(answer);
    return maker.end(isObject(answer) ? answer.usage : undefined).response;
  },
  createEvents,
  encode: (event) => encodeEvent(event, String(event.type)),
};
