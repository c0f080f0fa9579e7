import type { Budget } from "../../lib/budget.ts";
import { isObject } from "../../lib/json.ts";
import type { ChatRequest, ChatResponse } from "../../schemas/chat.ts";
import type { ModelFacts } from "../../schemas/model-facts.ts";
import { leaveOutImages } from "./fit-images.ts";
import { fitMessages } from "./fit-messages.ts";
import { createSchemaBudget, fitSchema } from "./fit-schema.ts";
import { fitThinking, fitToolChoice } from "./fit-thinking.ts";
import { type FactReader, isEffort, nearestEffort } from "./model-facts.ts";
import {
  findToolNames,
  type NameRules,
  namesFunctions,
  restoreToolNames,
  sendToolNames,
  type ToolNames,
} from "./tool-names.ts";
import type { ChunkCorrector, ConversionOptions, OperationAdapter, StreamMapper } from "./types.ts";

type Members = Record<string, unknown>;
type Tool = NonNullable<ChatRequest["tools"]>[number];

/** Greatest length of a function's name at most hosts. */
const defaultNameLength = 64;

/** What the host takes as the name of a function. */
export const nameRulesOf = ({ toolNameLength, toolNamesBeginWithLetter = false }: ModelFacts): NameRules => ({
  length: toolNameLength ?? defaultNameLength,
  beginsWithLetter: toolNamesBeginWithLetter,
});

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

/** Brings the effort to the nearest level of the model, or to the host's word for it. */
function fitEffort(body: Members, { efforts, effortWord }: ModelFacts, options: ConversionOptions): void {
  const { reasoning_effort: asked } = body;
  if (efforts === undefined || asked === undefined || asked === effortWord) return;
  const level = isEffort(asked) ? nearestEffort(asked, efforts) : undefined;
  if (level === undefined) {
    leaveOut(body, "reasoning_effort", true, options);
    return;
  }
  if (level !== asked) options.drop("reasoning_effort");
  body.reasoning_effort = level === "none" ? level : (effortWord ?? level);
}

/** Leaves out what the model refuses. A penalty of 0 is the default. */
function fitFields(
  body: Members,
  { refusedFields = [], reasoningFormat }: ModelFacts,
  options: ConversionOptions,
): void {
  for (const name of refusedFields) leaveOut(body, name, body[name] !== 0, options);
  if (reasoningFormat === undefined || body.include_reasoning !== undefined) return;
  body.reasoning_format ??= reasoningFormat;
}

/** Turns reasoning off where chat completions do not serve functions together with it. */
function fitEffortOfTools(body: ChatRequest, facts: ModelFacts, options: ConversionOptions): void {
  const { chatServesToolsWithReasoning: isServed = true, thinksByDefault = false } = facts;
  const { reasoning_effort: asked, tools = [] } = body;
  if (isServed || asked === "none" || (tools ?? []).length === 0) return;
  if (thinksByDefault || (asked !== undefined && asked !== null)) options.drop("reasoning_effort");
  body.reasoning_effort = "none";
}

/** A tool whose schema the model takes. */
function fitTool(tool: Tool, facts: ModelFacts, budget: Budget): Tool {
  const { function: named } = tool;
  if (tool.type !== "function" || !isObject(named) || !isObject(named.parameters)) return tool;
  const parameters = fitSchema(named.parameters, facts, budget);
  return parameters === named.parameters ? tool : { ...tool, function: { ...named, parameters } };
}

/**
 * Fits a chat to what a model takes. What is left out or changed in meaning is reported; what the model can be given in
 * another form is given in that form. Does not modify its argument.
 */
export function fitChat(request: ChatRequest, facts: ModelFacts, options: ConversionOptions): ChatRequest {
  const body: ChatRequest = { ...request };
  fitSampling(body, facts, options);
  fitToolChoice(body, facts, options);
  fitThinking(body, facts, options);
  fitEffort(body, facts, options);
  fitFields(body, facts, options);
  fitEffortOfTools(body, facts, options);
  if (body.tools) {
    const budget = createSchemaBudget();
    body.tools = body.tools.map((tool) => fitTool(tool, facts, budget));
  }
  body.messages = fitMessages(body.messages, facts, options);
  if (facts.images === "none") body.messages = leaveOutImages(body.messages, options);
  return body;
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

/** What is known of a chat that goes to one target. */
interface Fitting {
  request: ChatRequest;
  facts: ModelFacts;
  /** Names of functions that the host does not take. */
  names: ToolNames | undefined;
}

/**
 * Reads what is known of chats; undefined for those that are sent as they are. The conversions of one target share their
 * options, so its names are computed once.
 */
class FittingReader {
  readonly #options: FitOptions;
  readonly #known = new WeakMap<ConversionOptions, Fitting>();

  constructor(options: FitOptions) {
    this.#options = options;
  }

  read(request: ChatRequest, options: ConversionOptions): Fitting | undefined {
    const { isNative } = this.#options;
    const { modelFacts } = options;
    // what the operator says of a model holds for chats in its own dialect too
    const isOwn = isNative && !options.isConverted;
    if (isOwn && !modelFacts) return undefined;
    const facts = isOwn && modelFacts ? modelFacts : this.#factsOf(request, options);
    if (!namesFunctions(request)) return { request, facts, names: undefined };
    const known = this.#known.get(options);
    if (known?.request === request) return known;
    const made = { request, facts, names: findToolNames(request, nameRulesOf(facts)) };
    this.#known.set(options, made);
    return made;
  }

  /** Names of the chat's functions that the host does not take; undefined where it takes all. */
  names(request: ChatRequest, options: ConversionOptions): ToolNames | undefined {
    return namesFunctions(request) ? this.read(request, options)?.names : undefined;
  }

  /** The chat in the form of its target. */
  fit(request: ChatRequest, options: ConversionOptions): ChatRequest {
    const fitting = this.read(request, options);
    const fitted = fitting ? fitChat(request, fitting.facts, options) : request;
    return fitting?.names ? sendToolNames(fitted, fitting.names) : fitted;
  }

  /** Facts of the table and the operator. */
  #factsOf({ model }: ChatRequest, options: ConversionOptions): ModelFacts {
    const { factsOf, isOverResponses } = this.#options;
    const { modelFacts } = options;
    const facts = factsOf(model, options);
    if (isOverResponses) return { ...facts, ...modelFacts, chatServesToolsWithReasoning: true };
    return modelFacts ? { ...facts, ...modelFacts } : facts;
  }
}

/** A provider's chat, its requests fitted to the facts of their models, and its responses with the caller's names. */
export function fitAdapter(adapter: ChatAdapter, fit: FitOptions): ChatAdapter {
  const reader = new FittingReader(fit);
  return {
    ...adapter,
    toUpstream(request, options) {
      const fitted = reader.fit(request, options);
      return adapter.toUpstream ? adapter.toUpstream(fitted, options) : fitted;
    },
    fromUpstream(body, request, options) {
      const answer = adapter.fromUpstream?.(body, request, options);
      const names = reader.names(request, options);
      if (!names) return answer;
      const given = answer ?? body;
      return isObject(given) ? (restoreToolNames(given, names) as ChatResponse) : answer; // the same shape, other names
    },
    streamMapper(request, options) {
      const mapper = adapter.streamMapper?.(request, options);
      const names = mapper && reader.names(request, options);
      return names ? withNames(mapper, names) : mapper;
    },
    chunkCorrector(request, options) {
      const inner = adapter.chunkCorrector?.(request, options);
      const names = reader.names(request, options);
      // a stream that is mapped is not corrected
      if (!names || (!inner && adapter.streamMapper?.(request, options))) return inner;
      return correctNames(inner, names);
    },
  };
}

/** A provider's count of the tokens of a chat, which it reads as it reads the chat itself. Nothing is reported: nothing is lost. */
export function fitCountAdapter(
  adapter: OperationAdapter<"countChat">,
  fit: FitOptions,
): OperationAdapter<"countChat"> {
  const reader = new FittingReader(fit);
  return {
    ...adapter,
    toUpstream(request, options) {
      const fitted = reader.fit(request, { ...options, drop: () => {} });
      return adapter.toUpstream ? adapter.toUpstream(fitted, options) : fitted;
    },
  };
}

/** How a provider's chat is fitted. */
export interface FitOptions {
  factsOf: FactReader;
  /** The provider speaks this dialect itself: chats of its clients are sent unchanged. */
  isNative: boolean;
  /** The Responses API serves the chat: it has functions together with reasoning. Default: no. */
  isOverResponses?: boolean;
}
