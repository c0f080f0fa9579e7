import type { EffortLevel, ModelFacts } from "../../../schemas/model-facts.ts";
import type { FactTable } from "../../core/model-facts.ts";

/** Effort levels of vLLM and SGLang (https://docs.vllm.ai/en/latest/features/reasoning_outputs.html). */
const efforts: readonly EffortLevel[] = ["none", "low", "medium", "high"];

/** gpt-oss, which always reasons, at hosts that serve it through chat completions (https://openai.com/open-models). */
export const gptOss: ModelFacts = {
  thinking: "effort",
  efforts: ["low", "medium", "high"],
  thinksByDefault: true,
  canStopThinking: false,
  contextWindow: 131_072,
};

/**
 * Facts of open models at a caller's own server, whose chat templates decide what it takes
 * (https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html#chat-template).
 */
export const openModelRows: FactTable["rows"] = [
  {
    match: ["*mistral*", "*ministral*", "*mixtral*", "*devstral*", "*magistral*", "*codestral*"],
    // https://github.com/vllm-project/vllm/blob/main/examples/tool_chat_template_mistral.jinja
    facts: { efforts, callIds: "nine", parsesArguments: true, lateInstructions: "user", alternatesRoles: true },
  },
  {
    match: ["*qwen3*", "*glm-4.*", "*glm-5*"],
    facts: { efforts, thinking: "template", thinksByDefault: true, parsesArguments: true },
  },
  {
    match: ["*gpt-oss*"],
    facts: { efforts: ["low", "medium", "high"], thinksByDefault: true, canStopThinking: false },
  },
  {
    match: ["*llama*", "*gemma*", "*phi-*", "*deepseek*", "*kimi-*", "*minimax*"],
    facts: { efforts, parsesArguments: true },
  },
];
