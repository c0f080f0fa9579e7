import type { Provider } from "../../core/types.ts";
import { type CompatDeclaration, declareCompatible, oldTokenLimit } from "./declare.ts";

const penalties = ["presence_penalty", "frequency_penalty"] as const;
const sampling = ["max_tokens", "temperature", "top_p"] as const;

/** Providers that support only some of OpenAI's fields; all other fields of a request are dropped and reported. */
const declarations: readonly CompatDeclaration[] = [
  /** https://docs.endpoints.anyscale.com/text-generation/query-a-model */
  {
    slug: "anyscale",
    baseUrl: "https://api.endpoints.anyscale.com/v1",
    model: "meta-llama/Llama-2-7b-chat-hf",
    chat: {
      rename: oldTokenLimit,
      only: [
        ...sampling,
        ...penalties,
        "functions",
        "function_call",
        "n",
        "stop",
        "logit_bias",
        "user",
        "tools",
        "tool_choice",
        "response_format",
        "logprobs",
        "top_logprobs",
      ],
    },
  },
  /** https://platform.lingyiwanwu.com/docs/api-reference */
  {
    slug: "lingyi",
    baseUrl: "https://api.lingyiwanwu.com",
    pathPrefix: "/v1",
    operations: ["chat", "models"],
    model: "yi-34b-chat-0205",
    chat: { rename: oldTokenLimit, only: sampling },
  },
  /** https://developer.monsterapi.ai/reference/post_chat-completions */
  {
    slug: "monsterapi",
    baseUrl: "https://llm.monsterapi.ai/v1",
    operations: ["chat"],
    model: "mistralai/Mistral-7B-Instruct-v0.2",
    chat: {
      rename: { max_completion_tokens: "max_length", max_tokens: "max_length" },
      only: ["top_k", "top_p", "temperature", "max_length", "repetition_penalty", "beam_size"],
      bounds: { top_k: [1, 20], temperature: [0, 1], max_length: [1, 2048] },
    },
  },
  /** https://docs.ncompass.tech/ */
  {
    slug: "ncompass",
    baseUrl: "https://api.ncompass.tech/v1",
    operations: ["chat"],
    model: "meta-llama/Llama-3.3-70B-Instruct",
    chat: { rename: oldTokenLimit, only: [...sampling, ...penalties, "n", "stop"], bounds: { n: [1, 1] } },
  },
  /** https://docs.perplexity.ai/api-reference/chat-completions-post */
  {
    slug: "perplexity-ai",
    searches: () => true,
    baseUrl: "https://api.perplexity.ai",
    operations: ["chat", "responses"],
    responsesPath: "/v1/responses",
    model: "sonar",
    chat: {
      rename: oldTokenLimit,
      only: [
        ...sampling,
        ...penalties,
        "top_k",
        "n",
        "response_format",
        "reasoning_effort",
        "web_search_options",
        "search_mode",
        "search_domain_filter",
        "search_recency_filter",
        "search_language_filter",
        "search_after_date_filter",
        "search_before_date_filter",
        "last_updated_after_filter",
        "last_updated_before_filter",
        "return_images",
        "return_related_questions",
        "image_domain_filter",
        "image_format_filter",
        "disable_search",
        "enable_search_classifier",
        "stream_mode",
        "media_response",
        "language_preference",
      ],
      bounds: { top_k: [0, 2048], n: [1, 1] },
    },
    answers: {},
  },
];

/** Providers of the table. */
export const smallProviders: readonly Provider[] = declarations.map(declareCompatible);
