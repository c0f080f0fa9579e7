// What Converse refuses by itself, and what the models behind it refuse.

import { isObject } from "../../src/lib/json.ts";
import { claudeRules } from "./anthropic.ts";
import { type EmulatedRequest, type Members, objectsOf, type Rule } from "./emulator.ts";

/** Pages of the documentation, and reports that quote its validator, as read in November 2026. */
const reference = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime";
const sources = {
  converse: `${reference}_Converse.html`,
  members: `${reference}_Converse.html (botocore: Unknown parameter in input)`,
  alternate: "https://github.com/langchain-ai/langchain-aws/issues/130",
  start: `${reference}_Message.html`,
  results: "https://github.com/genkit-ai/aws-bedrock-js-plugin/issues/664",
  blank: "https://github.com/continuedev/continue/issues/9767; https://github.com/NousResearch/hermes-agent/pull/60628",
  empty: "https://github.com/earendil-works/pi/pull/3443",
  failed: "https://github.com/aws-samples/sample-multi-agent-orchestration-chat-on-agentcore/issues/15",
  names: `${reference}_ToolSpecification.html; https://github.com/openclaw/openclaw/issues/12892`,
  ids: `${reference}_ToolUseBlock.html`,
  config: "https://github.com/vxcontrol/pentagi/pull/196",
  schemas: "https://github.com/earendil-works/pi/issues/8279",
  caching: "https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html",
  novaCaching:
    "https://github.com/NousResearch/hermes-agent/issues/97281; https://github.com/earendil-works/pi/issues/2053; " +
    "https://github.com/aws-samples/generative-ai-use-cases/pull/1077",
  novaFields: "https://github.com/UKGovernmentBEIS/inspect_ai/issues/3939",
  novaReasoning: "https://github.com/UKGovernmentBEIS/inspect_ai/issues/3767 and 5301",
  images: `${reference}_ImageSource.html (bytes or s3Location)`,
  claude: "https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference.html",
  outputs: "https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html",
} as const;

const isNova = /amazon\.nova/;
const isClaude = /anthropic\.claude/;

const membersOf = (value: unknown): Members => (isObject(value) ? value : {});
const turnsOf = ({ body }: EmulatedRequest): Members[] => objectsOf(body.messages);
const blocksOf = ({ content }: Members): Members[] => objectsOf(content);
const callsOf = (turn: Members | undefined): Members[] =>
  turn ? blocksOf(turn).flatMap(({ toolUse }) => (isObject(toolUse) ? [toolUse] : [])) : [];
const resultsOf = (turn: Members | undefined): Members[] =>
  turn ? blocksOf(turn).flatMap(({ toolResult }) => (isObject(toolResult) ? [toolResult] : [])) : [];
const toolsOf = ({ body }: EmulatedRequest): Members[] => objectsOf(membersOf(body.toolConfig).tools);
const specsOf = (request: EmulatedRequest): Members[] =>
  toolsOf(request).flatMap(({ toolSpec }) => (isObject(toolSpec) ? [toolSpec] : []));
const fieldsOf = ({ body }: EmulatedRequest): Members => membersOf(body.additionalModelRequestFields);

const topLevel = new Set(
  (
    "messages system inferenceConfig toolConfig guardrailConfig additionalModelRequestFields promptVariables " +
    "additionalModelResponseFieldPaths requestMetadata performanceConfig serviceTier outputConfig"
  ).split(" "),
);

/** The first call whose result is not in the next turn, or result without a call in the turn before. */
function findUnmatched(turns: readonly Members[]): string | undefined {
  for (const [index, turn] of turns.entries()) {
    const wanted = callsOf(turn).map(({ toolUseId: id }) => id);
    const given = resultsOf(turns[index + 1]).map(({ toolUseId: id }) => id);
    const missing = wanted.filter((id) => !given.includes(id));
    if (missing.length > 0)
      return `Expected toolResult blocks at messages.${index + 1}.content for the following Ids: ${missing.join(", ")}`;
    if (given.length > wanted.length)
      return `The number of toolResult blocks at messages.${index + 1}.content exceeds the number of toolUse blocks of previous turn.`;
  }
  return undefined;
}

/** The first text block without text, in turns, results and system. */
function findBlank(request: EmulatedRequest): string | undefined {
  const isBlank = ({ text }: Members) => typeof text === "string" && text.trim() === "";
  for (const [index, turn] of turnsOf(request).entries()) {
    const all = [...blocksOf(turn), ...resultsOf(turn).flatMap(blocksOf)];
    const at = all.findIndex(isBlank);
    if (at >= 0)
      return `The text field in the ContentBlock object at messages.${index}.content.${at} is blank. Add text to the text field, and try again.`;
  }
  return objectsOf(request.body.system).some(isBlank)
    ? "The text field in the SystemContentBlock object at system.0 is blank. Add text to the text field, and try again."
    : undefined;
}

/** A cache point that Nova refuses: behind anything but text. */
function findNovaPoint(request: EmulatedRequest): string | undefined {
  for (const [index, turn] of turnsOf(request).entries()) {
    const blocks = blocksOf(turn);
    const at = blocks.findIndex(
      ({ cachePoint }, place) => cachePoint !== undefined && typeof blocks[place - 1]?.text !== "string",
    );
    if (at >= 0) return malformed(`#/messages/${index}/content/${at}: extraneous key [cachePoint] is not permitted`);
  }
  const tool = toolsOf(request).findIndex(({ cachePoint }) => cachePoint !== undefined);
  return tool < 0 ? undefined : malformed(`#/toolConfig/tools/${tool}: extraneous key [cachePoint] is not permitted`);
}

const malformed = (what: string): string =>
  `The model returned the following errors: Malformed input request: ${what}, please reformat your input and try again.`;

const converseOwn: readonly Rule[] = [
  {
    id: "unknown-member",
    source: sources.members,
    find: ({ body }) => {
      const unknown = Object.keys(body).find((name) => !topLevel.has(name));
      return unknown && `Unknown parameter in input: "${unknown}"`;
    },
  },
  {
    id: "first-role",
    source: sources.start,
    find: (request) =>
      turnsOf(request)[0]?.role === "user"
        ? undefined
        : "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
  },
  {
    id: "roles",
    source: sources.alternate,
    find: (request) => {
      const roles = turnsOf(request).map(({ role }) => role);
      const isWrong = roles.some((role, index) => role !== (index % 2 === 0 ? "user" : "assistant"));
      return isWrong
        ? "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again."
        : undefined;
    },
  },
  { id: "results", source: sources.results, find: (request) => findUnmatched(turnsOf(request)) },
  { id: "blank-text", source: sources.blank, find: findBlank },
  {
    id: "empty-content",
    source: sources.empty,
    find: (request) => {
      const index = turnsOf(request).findIndex((turn) => blocksOf(turn).length === 0);
      return index < 0
        ? undefined
        : `The content field in the Message object at messages.${index} is empty. Add a ContentBlock object to the content field and try again.`;
    },
  },
  {
    id: "failed-results",
    source: sources.failed,
    find: (request) => {
      const index = turnsOf(request).findIndex((turn) =>
        resultsOf(turn).some((result) => result.status === "error" && blocksOf(result).length === 0),
      );
      return index < 0
        ? undefined
        : `The content field at messages.${index}.content.0.toolResult cannot be empty when status value is error.`;
    },
  },
  {
    id: "tool-names",
    source: sources.names,
    find: (request) => {
      const names = [...specsOf(request), ...turnsOf(request).flatMap(callsOf)].map(({ name }) => String(name));
      const wrong = names.find((name) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name));
      return wrong === undefined
        ? undefined
        : `Value '${wrong}' at 'toolConfig.tools.1.member.toolSpec.name' failed to satisfy constraint: Member must have length less than or equal to 64; Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+`;
    },
  },
  {
    id: "call-ids",
    source: sources.ids,
    find: (request) => {
      const ids = turnsOf(request).flatMap((turn) => [...callsOf(turn), ...resultsOf(turn)]);
      const wrong = ids.find(({ toolUseId: id }) => !/^[a-zA-Z0-9_.:-]{1,64}$/.test(String(id)));
      return (
        wrong &&
        `Value '${wrong.toolUseId}' at 'messages.1.member.content.1.member.toolUse.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.:-]+`
      );
    },
  },
  {
    id: "tool-config",
    source: sources.config,
    find: (request) => {
      const holds = turnsOf(request).some((turn) => callsOf(turn).length > 0 || resultsOf(turn).length > 0);
      return holds && specsOf(request).length === 0
        ? "The toolConfig field must be defined when using toolUse and toolResult content blocks."
        : undefined;
    },
  },
  {
    id: "tool-schemas",
    source: sources.schemas,
    find: (request) => {
      const index = specsOf(request).findIndex(
        ({ inputSchema }) => membersOf(membersOf(inputSchema).json).type !== "object",
      );
      return index < 0
        ? undefined
        : `The value at toolConfig.tools.${index}.toolSpec.inputSchema.json.type must be one of the following: object.`;
    },
  },
  {
    id: "tool-input",
    source: sources.ids,
    find: (request) =>
      turnsOf(request)
        .flatMap(callsOf)
        .every(({ input }) => isObject(input))
        ? undefined
        : "The format of the value at messages.1.content.0.toolUse.input is invalid. Provide a json object for the field and try again.",
  },
  {
    id: "cache-points",
    source: sources.caching,
    find: ({ body }) => {
      const count = JSON.stringify(body).match(/"cachePoint":\{/g)?.length ?? 0;
      return count > 4 ? `A maximum of 4 blocks with cache_control may be provided. Found ${count}.` : undefined;
    },
  },
  {
    id: "media-sources",
    source: sources.images,
    find: (request) => {
      const blocks = turnsOf(request).flatMap((turn) => [...blocksOf(turn), ...resultsOf(turn).flatMap(blocksOf)]);
      const media = blocks.flatMap(({ image, document, video }) => [image, document, video].filter(isObject));
      const isWrong = media.some(({ source }) => !isObject(source) || !("bytes" in source || "s3Location" in source));
      return isWrong ? "Unable to parse the source of the image" : undefined;
    },
  },
  {
    id: "output-schema",
    source: `${sources.outputs} (JSON Schema subset)`,
    find: ({ body }) => {
      const { structure } = membersOf(membersOf(body.outputConfig).textFormat);
      const { schema } = membersOf(membersOf(structure).jsonSchema);
      if (schema === undefined) return undefined;
      const root: unknown = typeof schema === "string" ? JSON.parse(schema) : undefined;
      return isObject(root) && root.type === "object" && root.additionalProperties === false
        ? undefined
        : "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false";
    },
  },
];

const novaRules: readonly Rule[] = [
  { id: "nova-cache-points", source: sources.novaCaching, models: isNova, find: findNovaPoint },
  {
    id: "nova-fields",
    source: sources.novaFields,
    models: isNova,
    find: (request) => {
      const unknown = Object.keys(fieldsOf(request)).find(
        (name) => !["inferenceConfig", "reasoningConfig"].includes(name),
      );
      return unknown && malformed(`#: extraneous key [${unknown}] is not permitted`);
    },
  },
  {
    id: "nova-reasoning",
    source: sources.novaReasoning,
    models: isNova,
    find: (request) => {
      const { reasoningConfig: config } = fieldsOf(request);
      if (!isObject(config)) return undefined;
      const isKnown = ["low", "medium", "high"].includes(String(config.maxReasoningEffort));
      if (!request.model.includes("nova-2") || (config.type === "enabled" && !isKnown))
        return malformed("the provided reasoning config value is invalid");
      const { maxTokens, temperature, topP } = membersOf(request.body.inferenceConfig);
      const isHeld = [maxTokens, temperature, topP].some((one) => one !== undefined);
      return config.maxReasoningEffort === "high" && isHeld
        ? malformed("maxTokens, temperature and topP must be unset when maxReasoningEffort is high")
        : undefined;
    },
  },
];

/** A block of Converse as Claude receives it. */
function toClaudeBlock(block: Members): Members[] {
  const { text, toolUse, toolResult, reasoningContent, image, document } = block;
  if (typeof text === "string") return [{ type: "text", text }];
  if (isObject(toolUse)) return [{ type: "tool_use", id: toolUse.toolUseId, name: toolUse.name, input: toolUse.input }];
  if (isObject(toolResult)) {
    const content = blocksOf(toolResult).flatMap(toClaudeBlock);
    return [
      { type: "tool_result", tool_use_id: toolResult.toolUseId, content, is_error: toolResult.status === "error" },
    ];
  }
  if (isObject(reasoningContent)) {
    const { reasoningText, redactedContent } = reasoningContent;
    if (!isObject(reasoningText)) return [{ type: "redacted_thinking", data: redactedContent }];
    return [{ type: "thinking", thinking: reasoningText.text, signature: reasoningText.signature }];
  }
  if (isObject(image)) return [{ type: "image", source: image.source }];
  return isObject(document) ? [{ type: "document", source: document.source }] : [];
}

/** The choice of tools as Claude receives it. */
function toClaudeChoice(choice: unknown): Members | undefined {
  if (!isObject(choice)) return undefined;
  if (isObject(choice.tool)) return { type: "tool", name: choice.tool.name };
  return { type: "any" in choice ? "any" : "auto" };
}

/** Converse makes a request of Claude's own API out of its request; additional fields are members of it. */
function toClaudeRequest(request: EmulatedRequest): EmulatedRequest {
  const { body } = request;
  const { maxTokens, temperature, topP } = membersOf(body.inferenceConfig);
  const { anthropic_beta: _betas, ...fields } = fieldsOf(request);
  const tools = specsOf(request).map(({ name, description, inputSchema }) => ({
    name,
    description,
    input_schema: membersOf(inputSchema).json,
  }));
  const choice = toClaudeChoice(membersOf(body.toolConfig).toolChoice);
  const made: Members = {
    max_tokens: maxTokens ?? 64_000,
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(tools.length > 0 && { tools }),
    ...(choice && { tool_choice: choice }),
    ...fields,
    messages: turnsOf(request).map((turn) => ({ role: turn.role, content: blocksOf(turn).flatMap(toClaudeBlock) })),
  };
  return { ...request, headers: {}, body: made };
}

/** Members of Claude's own API that hosts lack. */
const hosted = ["service_tier", "speed", "container", "mcp_servers", "inference_geo", "fallbacks"];

const hostedRule: Rule = {
  id: "hosted-members",
  source: sources.claude,
  find: (request) => {
    const name = hosted.find((one) => fieldsOf(request)[one] !== undefined);
    return name && `${name}: Extra inputs are not permitted`;
  },
};

/** A rule of Claude for requests of Converse. */
function behindConverse(rule: Rule, toAsked: (request: EmulatedRequest) => EmulatedRequest): Rule {
  const find: Rule["find"] = (request, memory) => {
    if (!isClaude.test(request.model)) return undefined;
    const problem = rule.find(toAsked(request), memory);
    return problem === undefined ? undefined : `The model returned the following errors: ${problem}`;
  };
  return { ...rule, id: `claude-${rule.id}`, find };
}

const claudeBehind: readonly Rule[] = [
  behindConverse(hostedRule, (request) => request),
  ...claudeRules.map((rule) => behindConverse(rule, toClaudeRequest)),
];

/** Rules of Converse, and those of the models behind it. */
export const converseRules: readonly Rule[] = [...converseOwn, ...novaRules, ...claudeBehind];
