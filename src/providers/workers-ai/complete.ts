import type { OperationAdapter } from "../core/types.ts";
import { toTextAnswer, toTextMapper } from "../shared/completions.ts";
import { modelPath } from "../shared/hosts.ts";
import { copyMembers } from "../shared/members.ts";
import { isGiven, refuseMember, requireOneChoice } from "../shared/messages.ts";
import { chat, sharedMembers } from "./chat.ts";

const asChat = ({ model }: { model: string }) => ({ model, messages: [] });

/** Text completions: the chat models with a prompt (https://developers.cloudflare.com/workers-ai/models/). */
export const complete: OperationAdapter<"complete"> = {
  path: ({ model }) => modelPath(model),
  toUpstream(request, { drop }) {
    requireOneChoice("workers-ai", request);
    const { prompt, max_tokens } = request;
    if (typeof prompt !== "string") refuseMember("workers-ai", "prompt", "the prompt must be a single string");
    const handled = ["model", "prompt", "max_tokens"];
    return {
      ...copyMembers(request, sharedMembers, { handled, drop }),
      prompt,
      ...(isGiven(max_tokens) && { max_tokens }),
    };
  },
  fromUpstream: (body, request, options) => toTextAnswer(chat.fromUpstream(body, asChat(request), options)),
  streamMapper: (request, options) => toTextMapper(chat.streamMapper(asChat(request), options)),
};
