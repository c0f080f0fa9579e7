import type { Budget } from "../../lib/budget.ts";
import { isObject } from "../../lib/json.ts";
import type { ChatRequest, ChatResponse } from "../../schemas/chat.ts";
import type { ModelFacts } from "../../schemas/model-facts.ts";
import { fitMessages } from "./fit-messages.ts";
import { createSchemaBudget, fitSchema } from "./fit-schema.ts";
import { fitThinking, fitToolChoice } from "./fit-thinking.ts";
import { type FactReader, isEffort, nearestEffort } from "./model-facts.ts";
import { findToolNames, restoreToolNames, sendToolNames, type ToolNames } from "./tool-names.ts";
import type { ChunkCorrector, ConversionOptions, OperationAdapter, StreamMapper } from "./types.ts";

type Members = Record<string, unknown>;
type Tool = NonNullable<ChatRequest["tools"]>[number];

/** Greatest length of a function's name at most hosts. */
const defaultNameLength = 64;

const samplers = ["temperature", "top_p", "top_k"] as const;

/** Leaves out a field and reports it. A default value says nothing and is not reported. */
function leaveOut(body: Members, name: string, isReported: boolean, { drop }: ConversionOptions): void {
  if (body[name] === undefined) return;
  if (isReported && body[name] !== null) drop(name);
  delete body[name];
}

function fitSampling(body: Members, { sampling = "any" }: ModelFacts, options: ConversionOptions): void {
  if (sampling === "any") return;
  if (sampling === "none") {
    for (const name of samplers) leaveOut(body, name, name === "top_k" || body[name] !== 1, options);
    return;
  }
  const given = samplers.filter((name) => name !== "top_k" && body[name] !== undefined && body[name] !== null);
  for (const name of given.slice(1)) leaveOut(body, name, true, options);
}

/** Brings the effort to the nearest level of the model. */
function fitEffort(body: Members, { efforts }: ModelFacts, options: ConversionOptions): void {
  const { reasoning_effort: asked } = body;
  if (efforts === undefined || asked === undefined) return;
  const level = isEffort(asked) ? nearestEffort(asked, efforts) : undefined;
  if (level === asked) return;
  options.drop("reasoning_effort");
  if (level === undefined) delete body.reasoning_effort;
  else body.reasoning_effort = level;
}

/** Leaves out what the model refuses. A penalty of 0 is the default. */
function fitFields(body: Members, { refusedFields = [] }: ModelFacts, options: ConversionOptions): void {
  for (const name of refusedFields) leaveOut(body, name, body[name] !== 0, options);
}

/** A tool whose schema the model takes. */
function fitTool(tool: Tool, facts: ModelFacts, budget: Budget): Tool {
  const { function: named } = tool;
  if (tool.type !== "function" || !isObject(named) || !isObject(named.parameters)) return tool;
  const parameters = fitSchema(named.parameters, facts, budget);
  return parameters === named.parameters ? tool : { ...tool, function: { ...named, parameters } };
}

/** A chat as a model takes it, and the names of functions that were changed for that. */
interface FittedChat {
  request: ChatRequest;
  names: ToolNames | undefined;
}

/**
 * Fits a chat to what a model takes. What is left out or changed in meaning is reported; what the model can be given in
 * another form is given in that form. Does not modify its argument.
 */
export function fitChat(request: ChatRequest, facts: ModelFacts, options: ConversionOptions): FittedChat {
  const body: ChatRequest = { ...request };
  fitSampling(body, facts, options);
  fitToolChoice(body, facts, options);
  fitThinking(body, facts, options);
  fitEffort(body, facts, options);
  fitFields(body, facts, options);
  if (body.tools) {
    const budget = createSchemaBudget();
    body.tools = body.tools.map((tool) => fitTool(tool, facts, budget));
  }
  body.messages = fitMessages(body.messages, facts, options);
  const names = findToolNames(body, facts.toolNameLength ?? defaultNameLength);
  return { request: names ? sendToolNames(body, names) : body, names };
}

/** A mapper whose chunks have the caller's names. */
function withNames(mapper: StreamMapper, names: ToolNames): StreamMapper {
  const restore = (chunks: readonly object[]) => chunks.map((chunk) => restoreToolNames(chunk, names));
  return {
    map: (event) => restore(mapper.map(event)),
    ...(mapper.done && { done: () => restore(mapper.done?.() ?? []) }),
    isComplete: () => mapper.isComplete(),
    usage: () => mapper.usage(),
  };
}

/** A corrector that restores the caller's names too: every chunk may hold one. */
function correctNames(inner: ChunkCorrector | undefined, names: ToolNames): ChunkCorrector {
  return {
    concerns: () => true,
    correct(chunk) {
      const corrected = inner ? inner.correct(chunk) : chunk;
      return corrected && restoreToolNames(corrected, names);
    },
  };
}

type ChatAdapter = OperationAdapter<"chat">;

/** A provider's chat, its requests fitted to the facts of their models, and its responses with the caller's names. */
export function fitAdapter(adapter: ChatAdapter, { factsOf, isNative }: FitOptions): ChatAdapter {
  const read = (request: ChatRequest, options: ConversionOptions): ModelFacts | undefined =>
    // what the operator says of a model holds for chats in its own dialect too
    isNative && !options.isConverted
      ? options.modelFacts
      : { ...factsOf(request.model, options), ...options.modelFacts };
  const namesOf = (request: ChatRequest, options: ConversionOptions): ToolNames | undefined => {
    const facts = request.tools ? read(request, options) : undefined;
    return facts && findToolNames(request, facts.toolNameLength ?? defaultNameLength);
  };
  return {
    ...adapter,
    toUpstream(request, options) {
      const facts = read(request, options);
      const fitted = facts ? fitChat(request, facts, options).request : request;
      return adapter.toUpstream ? adapter.toUpstream(fitted, options) : fitted;
    },
    fromUpstream(body, request, options) {
      const answer = adapter.fromUpstream?.(body, request, options);
      const names = namesOf(request, options);
      if (!names) return answer;
      const given = answer ?? body;
      return isObject(given) ? (restoreToolNames(given, names) as ChatResponse) : answer; // the same shape, other names
    },
    streamMapper(request, options) {
      const mapper = adapter.streamMapper?.(request, options);
      const names = mapper && namesOf(request, options);
      return names ? withNames(mapper, names) : mapper;
    },
    chunkCorrector(request, options) {
      const inner = adapter.chunkCorrector?.(request, options);
      const names = namesOf(request, options);
      // a stream that is mapped is not corrected
      if (!names || (!inner && adapter.streamMapper?.(request, options))) return inner;
      return correctNames(inner, names);
    },
  };
}

/** How a provider's chat is fitted. */
export interface FitOptions {
  factsOf: FactReader;
  /** The provider speaks this dialect itself: chats of its clients are sent unchanged. */
  isNative: boolean;
}
