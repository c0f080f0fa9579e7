import { isObject } from "../../src/lib/json.ts";
import { type Emulator, jsonResponse, type Members, type Rule, readRequest } from "./emulator.ts";
import { answerChat, callsOf, chatPrefix, messagesOf, parsedArgumentsRule, textOnlyRule } from "./openai-chat.ts";
import { openaiResponses } from "./openai-responses.ts";

/** Documentation, templates and validators, as read in November 2026. */
const sources = {
  server: "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
  reasoning: "https://docs.vllm.ai/en/latest/features/reasoning_outputs.html",
  template: "https://github.com/vllm-project/vllm/blob/main/examples/tool_chat_template_mistral.jinja",
  validator: "https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py",
} as const;

/** Where the emulated server runs. */
export const vllmHost = "vllm.emulated.example";

/** Models whose template demands that roles alternate. */
const alternates = /mistral/i;

const isResult = ({ role }: Members): boolean => role === "tool";

/** The first message whose role does not alternate, apart from calls and their results. */
function findRepeatedRole(messages: readonly Members[]): Members | undefined {
  const [first] = messages;
  const rest = first?.role === "system" ? messages.slice(1) : messages;
  const counted = rest.filter((message) => !isResult(message) && callsOf(message).length === 0);
  return counted.find(({ role }, index) => (role === "user") !== (index % 2 === 0));
}

const rules: readonly Rule[] = [
  {
    id: "alternating-roles",
    source: sources.template,
    models: alternates,
    find: (request) =>
      findRepeatedRole(messagesOf(request)) &&
      "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
  },
  {
    id: "call-ids",
    source: `${sources.template} (Tool call IDs should be alphanumeric strings with length 9!)`,
    models: alternates,
    find: (request) => {
      const wrong = messagesOf(request)
        .flatMap(callsOf)
        .find(({ id }) => !/^[a-zA-Z0-9]{9}$/.test(String(id)));
      return wrong && "Tool call IDs should be alphanumeric strings with length 9!";
    },
  },
  parsedArgumentsRule(`${sources.server} (templates take arguments as objects)`),
  textOnlyRule(sources.server, "this model is not multimodal: At most 0 image(s) may be provided in one prompt."),
  {
    id: "effort-level",
    source: sources.reasoning,
    find: ({ body: { reasoning_effort: effort } }) =>
      effort === undefined || ["none", "low", "medium", "high"].includes(String(effort))
        ? undefined
        : "1 validation error: Input should be 'none', 'low', 'medium' or 'high' (reasoning_effort)",
  },
  {
    id: "template-settings",
    source: sources.reasoning,
    find: ({ body: { chat_template_kwargs: settings } }) =>
      settings === undefined || isObject(settings)
        ? undefined
        : "1 validation error: Input should be a valid dictionary (chat_template_kwargs)",
  },
];

/** A server of vLLM. It takes fields that it does not know. */
export const vllm: Emulator = {
  name: "vLLM chat",
  showsReasoning: (model) => !alternates.test(model),
  rules,
  serves: ({ host, pathname }) => host === vllmHost && pathname === "/v1/chat/completions",
  read: readRequest,
  prefixOf: chatPrefix,
  refuse: (message) => jsonResponse({ object: "error", message, type: "BadRequestError", param: null, code: 400 }, 400),
  answer: answerChat({
    callId: (number) => number.toString(36).padStart(9, "0"),
    reasoning: (text) => ({ reasoning_content: text }),
  }),
};

/** The Responses API of a server of vLLM, whose requests and responses have OpenAI's form. */
export const vllmResponses: Emulator = {
  ...openaiResponses,
  name: "vLLM Responses",
  serves: ({ host, pathname }) => host === vllmHost && pathname === "/v1/responses",
};
