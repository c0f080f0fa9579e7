import type { UncountedCall } from "../../context/call-record.ts";
import type { CallerContext } from "../../context.ts";
import {
  type ChatAnswer,
  hasLogprobs,
  readChatAnswer,
  readDistributions,
  readLabelWeights,
} from "../../dialects/decisions/answers.ts";
import { toDecisionAnswer } from "../../dialects/decisions/probabilities.ts";
import { toLabelRequest, toStructuredRequest } from "../../dialects/decisions/prompt.ts";
import { listQuestions, type Question, readQuestions } from "../../dialects/decisions/questions.ts";
import type { JsonBody } from "../../endpoint.ts";
import { GatewayError, UpstreamError } from "../../errors.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { mapParallel } from "../../lib/parallel.ts";
import type { Reply } from "../../lib/reply.ts";
import { toLoggedUsage, withTier } from "../../logs/usage.ts";
import { requireOperation } from "../../providers/core/types.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { DecisionAnswer, DecisionsRequest } from "../../schemas/decisions.ts";
import type { LoggedUsage } from "../../schemas/logs.ts";
import { discardParts, noteParts } from "../call/cost.ts";
import { droppedHeader, noteDropped } from "../call/provider-response.ts";
import { uncountedOf } from "../call/usage-units.ts";
import { callTarget, type Target } from "../pipeline/call-target.ts";
import { runTargets } from "../pipeline/run.ts";
import { namesBeta } from "../target/target.ts";

/** Most calls of one request that run at once. */
const maxParallel = 8;
/** Most outcomes that one token distinguishes: as many candidates as providers report. */
const maxLabels = 20;

/** How decisions are made of chats; `native`: by the provider itself. */
type DecisionMethod = "logprobs" | "structured" | "native";

/** The method the caller requires, in `x-gateway-beta`. */
function readMethod(context: CallerContext): DecisionMethod | undefined {
  const methods = ["logprobs", "structured", "native"] as const;
  return methods.find((method) => namesBeta(context, `decisions-${method}`));
}

/** Fields of the gateway's own requests that a model may not support, and how its errors name them. */
const optionalMembers: readonly (readonly [member: string, form: RegExp])[] = [
  ["logprobs", /logprob/i],
  ["response_format", /response_?format|json_?schema|response_?schema|output_?(?:format|config)|structured.?output/i],
  ["temperature", /temperature/i],
  ["max_completion_tokens", /max_?(?:completion_|output_)?tokens/i],
  ["max_tokens", /max_?(?:completion_|output_)?tokens/i],
];

/** The field of a request that made it fail; undefined where it was not one of the gateway's. */
function refusedMember(error: unknown, request: ChatRequest): string | undefined {
  if (!(error instanceof GatewayError) || (error.status !== 400 && error.status !== 422)) return undefined;
  const said = error.param !== null && optionalMembers.some(([, form]) => form.test(error.param ?? ""));
  const text = said ? (error.param ?? "") : error.message;
  return optionalMembers.find(([member, form]) => request[member] !== undefined && form.test(text))?.[0];
}

/** Decisions made of chats with one target. */
class ChatDecisions {
  readonly #request: DecisionsRequest;
  readonly #target: Target;
  readonly #context: CallerContext;
  readonly #answers = new Map<string, DecisionAnswer>();
  #input: number | undefined;
  #output: number | undefined;
  /** Counts of the chats that were answered. */
  readonly #usages: (LoggedUsage | null)[] = [];
  /** The chats whose tokens are not all known. */
  readonly #uncounted: UncountedCall[] = [];
  #model: string | undefined;
  #headers: Record<string, string> | undefined;

  constructor(request: DecisionsRequest, target: Target, context: CallerContext) {
    this.#request = request;
    this.#target = target;
    this.#context = context;
  }

  /** @throws {GatewayError} 400 for questions that cannot be asked; 502 naming one without a usable response. */
  async run(method: DecisionMethod | undefined): Promise<Reply> {
    const { services } = this.#context;
    const questions = readQuestions(this.#request);
    const startedAt = services.clock.monotonic();
    try {
      await this.#ask(questions, method);
    } catch (cause) {
      // the chats before the failure were made, and their provider charges for them
      discardParts(this.#context, this.#usages, this.#uncounted);
      throw cause;
    }
    this.#context.log.callsFrom = startedAt;
    return this.#reply(questions);
  }

  async #ask(questions: readonly Question[], method: DecisionMethod | undefined): Promise<void> {
    const byLabel = method === "logprobs" || (method === undefined && this.#target.destination.provider.hasLogprobs);
    const few = byLabel ? questions.filter(({ outcomes }) => outcomes.length <= maxLabels) : [];
    await mapParallel(few, maxParallel, (question) => this.#askLabel(question, method === "logprobs"));
    const open = questions.filter(({ name }) => !this.#answers.has(name));
    if (open.length > 0) await this.#askStructured(open);
  }

  /** By the probability of each label; a question for which the model reports no labels stays open. */
  async #askLabel(question: Question, isForced: boolean): Promise<void> {
    for (let attempt = 0; attempt < 2; attempt++) {
      const answer = await this.#chat(toLabelRequest(this.#request, question), ["logprobs"]);
      const weights = answer && hasLogprobs(answer) ? readLabelWeights(answer, question) : undefined;
      if (weights) return this.#settle(question, weights);
      if (!isForced) return;
    }
    throw this.#unanswered(question);
  }

  /** By the distributions the model writes; questions with unreadable ones are retried once. */
  async #askStructured(questions: readonly Question[]): Promise<void> {
    let open = questions;
    for (let attempt = 0; attempt < 2; attempt++) {
      const answer = await this.#chat(toStructuredRequest(this.#request, open));
      const found = answer ? readDistributions(answer, open) : new Map<string, number[]>();
      for (const question of open) {
        const weights = found.get(question.name);
        if (weights) this.#settle(question, weights);
      }
      open = open.filter(({ name }) => !found.has(name));
      if (open.length === 0) return;
    }
    throw this.#unanswered(open[0]);
  }

  #settle(question: Question, weights: readonly number[]): void {
    this.#answers.set(question.name, toDecisionAnswer(question, weights));
  }

  #unanswered(question: Question | undefined): UpstreamError {
    const provider = this.#target.destination.provider.slug;
    const name = question?.name ?? "";
    return new UpstreamError(
      502,
      `Cannot use the response of ${provider}: question ${JSON.stringify(name)} has no readable answer`,
      { provider, code: "upstream_bad_answer", param: `questions.${name}` },
    );
  }

  /**
   * One chat; repeated without the fields the model does not support.
   *
   * @param needed Fields without which there is no result.
   * @returns Undefined where the response is not a chat's, or the model does not support a needed field.
   */
  async #chat(asked: ChatRequest, needed: readonly string[] = []): Promise<ChatAnswer | undefined> {
    let request = asked;
    for (;;) {
      try {
        return this.#read(request, await callTarget("chat", request, this.#target, this.#context));
      } catch (error) {
        // an unreadable response answers no question: each is retried once, then reported by name
        if (error instanceof UpstreamError && error.code === "upstream_bad_answer") return undefined;
        const member = refusedMember(error, request);
        if (member === undefined) throw error;
        if (needed.includes(member)) return undefined;
        const { [member]: _, ...rest } = request;
        // fields of the caller are not dropped
        request = rest as ChatRequest;
      }
    }
  }

  #read(request: ChatRequest, { headers, body }: Reply): ChatAnswer | undefined {
    this.#headers ??= headers;
    const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : body;
    const answer = typeof text === "string" ? readChatAnswer(parseJson(text)) : undefined;
    if (!answer) return undefined;
    this.#model ??= answer.model ?? undefined;
    const { prompt_tokens: input, completion_tokens: output } = isObject(answer.usage) ? answer.usage : {};
    const usage = withTier(toLoggedUsage(answer.usage), answer.service_tier);
    this.#usages.push(usage);
    this.#uncounted.push(...uncountedOf("chat", { request, reported: usage, written: { form: "answer", answer } }));
    if (isCount(input)) this.#input = (this.#input ?? 0) + input;
    if (isCount(output)) this.#output = (this.#output ?? 0) + output;
    return answer;
  }

  #reply(questions: readonly Question[]): Reply {
    const { log } = this.#context;
    const { provider, managed } = this.#target.destination;
    const isCounted = this.#input !== undefined || this.#output !== undefined;
    const usage = { input_tokens: this.#input ?? 0, output_tokens: this.#output ?? 0 };
    const body = JSON.stringify({
      model: this.#model ?? managed?.model ?? this.#request.model,
      answers: Object.fromEntries(questions.map(({ name }) => [name, this.#answers.get(name)])),
      ...(isCounted && { usage }),
      provider: provider.slug,
    });
    noteParts(this.#context, isCounted ? this.#usages : [], this.#uncounted);
    log.responseBody = body;
    // parameters the chats dropped were the gateway's, not the caller's
    log.dropped = null;
    for (const name of ignoredMembers(this.#request)) noteDropped(log, name);
    const { "x-gateway-dropped-params": _, ...headers } = this.#headers ?? {};
    return { status: 200, headers: { ...headers, ...droppedHeader(log), "content-type": "application/json" }, body };
  }
}

const known: ReadonlySet<string> = new Set(["model", "state", "questions", "stream"]);

/** Fields a chat has no use for. */
function ignoredMembers(request: DecisionsRequest): string[] {
  const given = Object.entries(request).filter(([, value]) => value !== undefined && value !== null);
  return given.map(([name]) => name).filter((name) => !known.has(name));
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function decideAtTarget(request: DecisionsRequest, target: Target, context: CallerContext): Promise<Reply> {
  const { provider, managed } = target.destination;
  const { chat, decide } = provider.operations;
  const method = readMethod(context);
  const isForced = method === "logprobs" || method === "structured";
  const named = { ...request, model: managed?.model ?? request.model };
  const isNative = decide !== undefined && !isForced && (method === "native" || decide.serves?.(named) !== false);
  // a provider with native decisions uses them whatever method is required; one with neither is refused by name
  if (isNative || !chat) {
    requireOperation(provider, "decide");
    return callTarget("decide", request, target, context);
  }
  return new ChatDecisions(request, target, context).run(method);
}

/**
 * Serves `POST /decisions`: forwarded to targets with native decisions, made of chats for chat models.
 *
 * @throws {GatewayError} 400 for questions no target can be asked; else as its targets fail.
 */
export async function runDecisions({ value }: JsonBody<DecisionsRequest>, context: CallerContext): Promise<Reply> {
  listQuestions(value);
  const parts = { context, operation: "decide" as const };
  return runTargets(value, (request, target) => decideAtTarget(request, target, context), parts);
}
