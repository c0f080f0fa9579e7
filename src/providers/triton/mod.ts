import * as v from "valibot";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import type { OperationAdapter } from "../core/types.ts";
import { toHead } from "../shared/answers.ts";
import { toTextCompletion } from "../shared/completions.ts";
import { hostRequired } from "../shared/hosts.ts";
import { copyMembers, type MemberMap, toList } from "../shared/members.ts";
import { refuseMember, refuseStream, requireOneChoice } from "../shared/messages.ts";

const Reply = v.looseObject({ text_output: v.string() });

/** Request defaults: the server has none. */
const defaults = { max_tokens: 100, temperature: 0.7, top_p: 0.7, top_k: 50 };

const members = {
  max_tokens: "max_tokens",
  temperature: "temperature",
  top_p: "top_p",
  top_k: "top_k",
  seed: "random_seed",
  bad_words: "bad_words",
  parameters: "parameters",
  stop: ["stop_words", toList],
} satisfies MemberMap;

const complete: OperationAdapter<"complete"> = {
  path: () => "/generate",
  toUpstream(request, { drop }) {
    requireOneChoice("triton", request);
    refuseStream("triton", request);
    const { prompt } = request;
    if (typeof prompt !== "string") refuseMember("triton", "prompt", "the prompt must be a single string");
    const copied = copyMembers(request, members, { handled: ["model", "prompt"], drop });
    return { ...defaults, ...copied, text_input: prompt };
  },
  fromUpstream(body, { model }, options) {
    const { text_output: text } = v.parse(Reply, body);
    return toTextCompletion(toHead("triton", {}, options), model, [{ text, finishReason: "stop" }]);
  },
};

/** Triton Inference Server, on the caller's own host (https://github.com/triton-inference-server/server/blob/main/docs/protocol/extension_generate.md). */
export const triton = defineProvider({
  slug: "triton",
  keyless: true,
  settings: { prefix: "triton", schema: v.object({}) },
  baseUrl: hostRequired("triton"),
  authenticate: bearer,
  operations: { complete },
});
