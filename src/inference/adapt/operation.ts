import { fromUsageMetadata } from "../../dialects/gemini/candidates.ts";
import { toNativeRequest } from "../../dialects/responses/stored.ts";
import type { Dialect, DialectOptions } from "../../dialects/types.ts";
import { InvalidRequestError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { BinaryAnswer, OperationName, Operations } from "../../providers/core/operations.ts";
import {
  type BoundProvider,
  type CallFailure,
  type ConversionOptions,
  findOperation,
  type OperationAdapter,
  requireOperation,
  type StreamFraming,
} from "../../providers/core/types.ts";
import type { MessagesRequest } from "../../schemas/messages.ts";
import type { ResponsesRequest } from "../../schemas/responses.ts";
import { type Counting, readFurtherCounts } from "../call/usage-units.ts";
import { asksForUsage, isStreamed, type Media, operationFacts } from "../facts/operation-facts.ts";
import { createContentObserver } from "../stream/content-observer.ts";
import { createDialectObserver, createPlainMapper } from "../stream/dialect-observer.ts";
import { keepNumbers } from "../stream/exact-observer.ts";
import { createMappedObserver } from "../stream/mapped-observer.ts";
import { createCompletionObserver, type StreamObserver } from "../stream/stream-observer.ts";
import { createReframedObserver, createTypedObserver } from "../stream/typed-observer.ts";
import { typedStreams } from "../stream/typed-streams.ts";
import { chatOverResponses } from "./chat-over-responses.ts";
import { dialects, isDialect } from "./dialects.ts";
import { type Bridge, bridges } from "./fallback-operations.ts";

/** One request as one provider serves it: whichever operation and dialect that takes. */
export interface ServedOperation extends Counting {
  readonly method: "GET" | "POST";
  /** Path below the provider's base address. */
  readonly path: string;
  readonly framing: StreamFraming;
  /** Whether the answer is to be streamed. */
  readonly streamed: boolean;
  /** What is told of its bodies that are no JSON, or hold media. */
  readonly media: MediaFacts;
  /** What is asked for, in the gateway's shape. */
  readonly request: object;
  /** Further headers of the upstream's request. */
  headers(given: Readonly<Record<string, string>>): Record<string, string>;
  /** The upstream's request. */
  body(): unknown;
  /** The client's answer from the upstream's; undefined where it came in that shape. */
  answer(body: unknown): object | undefined;
  /** As `answer`, for upstream's answers that are no JSON; absent where those flow through or are refused. */
  readonly answerBytes?: ((answer: BinaryAnswer) => object) | undefined;
  /** What watches the upstream's stream and writes the client's. */
  createObserver(): StreamObserver;
  /** The operation with another request, to be sent once in place of one that was refused; undefined where there is none. */
  repair?: ((failure: CallFailure) => ServedOperation | undefined) | undefined;
}

/** What is to be known of an operation whose bodies hold media. */
interface MediaFacts {
  /** The client's request is a form where it can be one. */
  readonly isForm: boolean;
  /** Answers that are no JSON flow to the client as they come. */
  readonly flows: boolean;
  /** The answer was asked for as plain text. */
  readonly isPlain: boolean;
  /** Bodies hold sound or pictures, which no log keeps. */
  readonly isHeavy: boolean;
  /** The upstream answers with a list. */
  readonly isList: boolean;
  /** A member named `error` does not mean that all of it failed. */
  readonly readsErrors: boolean;
  /** Most bytes of one event of a stream; undefined: as of any stream. */
  readonly maxEventBytes: number | undefined;
}

/** Whether the client sends a form, whether responses are forwarded as they come, and whether bodies are too large for logs. */
const mediaForms: Readonly<Record<Media, Pick<MediaFacts, "isForm" | "flows" | "isHeavy">>> = {
  none: { isForm: false, flows: false, isHeavy: false },
  images: { isForm: false, flows: false, isHeavy: true },
  speech: { isForm: false, flows: true, isHeavy: true },
  transcript: { isForm: true, flows: true, isHeavy: false },
};
const plainFormats: readonly unknown[] = ["text", "srt", "vtt"];

function toMediaFacts<Name extends OperationName>({ name, adapter, request }: Parts<Name>): MediaFacts {
  const { media, events } = operationFacts[name];
  const form = mediaForms[media];
  return {
    ...form,
    isPlain: form.isForm && plainFormats.includes(Reflect.get(request, "response_format")),
    isList: adapter.answersLists === true,
    readsErrors: adapter.readsErrors === true,
    maxEventBytes: typedStreams[events]?.maxEventBytes,
  };
}

/** What every served operation is made from. */
interface Parts<Name extends OperationName> {
  name: Name;
  adapter: OperationAdapter<Name>;
  request: Operations[Name]["request"];
  provider: BoundProvider;
  options: ConversionOptions;
}

/** What an answer that is streamed is observed with, where the provider has the operation itself. */
function createNativeObserver<Name extends OperationName>({
  name,
  adapter,
  request,
  provider,
  options,
}: Parts<Name>): StreamObserver {
  const { events } = operationFacts[name];
  if (events === "contents") return createContentObserver();
  const corrector = adapter.chunkCorrector?.(request, options);
  const mapper = corrector ? undefined : adapter.streamMapper?.(request, options);
  const typed = typedStreams[events];
  if (typed && mapper) return keepNumbers(createReframedObserver(typed, mapper, provider.slug), options.numbers);
  if (typed) return createTypedObserver(typed);
  const includeUsage = asksForUsage(request);
  if (mapper)
    return keepNumbers(createMappedObserver({ mapper, provider: provider.slug, includeUsage }), options.numbers);
  const observer = createCompletionObserver({ includeUsage, corrector });
  return corrector ? keepNumbers(observer, options.numbers) : observer;
}

/** Token counts of an answer, in whichever of the shapes there are. */
const usageOf = (answer: object): unknown => Reflect.get(answer, "usage") ?? fromUsageMetadata(answer);

function serve<Name extends OperationName>(parts: Parts<Name>): ServedOperation {
  const { name, adapter, request, options } = parts;
  return {
    method: adapter.method ?? "POST",
    path: adapter.path(request),
    framing: adapter.framing ?? "sse",
    streamed: isStreamed(name, request),
    media: toMediaFacts(parts),
    request,
    headers: (given) => adapter.headers?.(request, given) ?? {},
    body: () => (adapter.toUpstream ? adapter.toUpstream(request, options) : request),
    answer: (body) => adapter.fromUpstream?.(body, request, options),
    usageOf,
    furtherCountsOf: (answer) => readFurtherCounts({ name, request, answer, clientHeader: options.clientHeader }),
    answerBytes: adapter.fromBytes && ((answer) => adapter.fromBytes?.(answer, request, options) ?? {}),
    createObserver: () => createNativeObserver(parts),
    repair:
      adapter.repair &&
      ((failure) => {
        const repaired = adapter.repair?.(request, failure, options);
        return repaired && serve({ ...parts, request: repaired });
      }),
  };
}

/** The answer and its counts before they are told in other words, which may have none for some of them. */
function countFirst(served: ServedOperation) {
  let usage: unknown;
  return {
    answer(body: unknown): unknown {
      const answer = served.answer(body) ?? body;
      usage = isObject(answer) ? served.usageOf(answer) : undefined;
      return answer;
    },
    usageOf: () => usage,
  };
}

/** A request in another dialect, served by a provider's chat. */
function serveThroughChat<Request extends object, Answer extends object>(
  dialect: Dialect<Request, Answer>,
  request: Request,
  chat: { adapter: OperationAdapter<"chat">; provider: BoundProvider; options: ConversionOptions & DialectOptions },
): ServedOperation {
  const { adapter, provider } = chat;
  // thoughts belong to the other dialects, so the chat is asked for all it has
  const options: ConversionOptions & DialectOptions = { ...chat.options, strict: false };
  const serveChat = (asked: Operations["chat"]["request"]): ServedOperation => {
    const served = serve({ name: "chat", adapter, request: asked, provider, options });
    const counted = countFirst(served);
    return {
      ...served,
      usageOf: counted.usageOf,
      answer: (body) => dialect.fromChat(counted.answer(body) as Operations["chat"]["response"], request, options), // read leniently
      createObserver() {
        const observer = createDialectObserver({
          mapper: adapter.streamMapper?.(asked, options) ?? createPlainMapper(provider.slug),
          events: dialect.createEvents(request, options),
          encode: dialect.encode,
          provider: provider.slug,
        });
        return keepNumbers(observer, options.numbers);
      },
      repair:
        adapter.repair &&
        ((failure) => {
          const repaired = adapter.repair?.(asked, failure, options);
          return repaired && serveChat(repaired);
        }),
    };
  };
  return serveChat(dialect.toChat(request, options));
}

/** A request that another operation of the provider answers; undefined where the provider does not have that one either. */
function serveOver(
  { over, toRequest, fromAnswer }: Bridge,
  request: Operations[OperationName]["request"],
  provider: BoundProvider,
  options: ConversionOptions & DialectOptions,
): ServedOperation | undefined {
  if (!provider.operations[over]) return undefined;
  const asked = toRequest(request, options);
  const adapter = findOperation(provider, over, asked);
  if (!adapter) return undefined;
  const served = serve({ name: over, adapter, request: asked, provider, options });
  if (!fromAnswer) return served;
  const counted = countFirst(served);
  return {
    ...served,
    usageOf: counted.usageOf,
    answer: (body) => fromAnswer(counted.answer(body) as Operations[OperationName]["response"]), // read leniently
  };
}

/**
 * Refuses an operation a provider cannot serve in any way.
 *
 * @throws {InvalidRequestError}
 */
export function requireServed(provider: BoundProvider, name: OperationName): void {
  const over = bridges[name]?.over;
  // decisions are made of chats too
  if (provider.operations.chat && (isDialect(name) || name === "decide")) return;
  if (over === undefined || !provider.operations[over]) requireOperation(provider, name);
}

/** A request without what means something to the gateway alone. */
function toForeign<Name extends OperationName>(
  name: Name,
  request: Operations[Name]["request"],
): Operations[Name]["request"] {
  return name === "responses" ? toNativeRequest(request as ResponsesRequest) : request; // as named
}

/** What answers a request in another dialect: a provider's chat, or the API the caller would rather have it go by. */
function findChat<Name extends OperationName>(
  name: Name,
  request: Operations[Name]["request"],
  provider: BoundProvider,
  { overResponses }: DialectOptions,
): OperationAdapter<"chat"> | undefined {
  const { chat } = provider.operations;
  if (name !== "messages" || overResponses !== true) return chat;
  const { model } = request as MessagesRequest; // as named
  const native = findOperation(provider, "responses", { model });
  return native ? chatOverResponses(native, provider.slug) : chat;
}

/**
 * How a provider serves a request: by the operation itself where it has it, else through its chat.
 *
 * @throws {InvalidRequestError} If it has neither, or the request cannot be told in its words.
 */
export function serveOperation<Name extends OperationName>(
  name: Name,
  request: Operations[Name]["request"],
  provider: BoundProvider,
  options: ConversionOptions & DialectOptions,
): ServedOperation {
  const adapter = findOperation(provider, name, request);
  if (adapter) return serve({ name, adapter, request: toForeign(name, request), provider, options });
  const bridge = bridges[name];
  const bridged = bridge && serveOver(bridge, request, provider, options);
  if (bridged) return bridged;
  const chat = findChat(name, request, provider, options);
  if (chat && isDialect(name)) {
    // the table holds the dialect of this very operation
    const dialect = dialects[name] as unknown as Dialect<Operations[Name]["request"], Operations[Name]["response"]>;
    return serveThroughChat(dialect, request, { adapter: chat, provider, options });
  }
  requireOperation(provider, name);
  throw new InvalidRequestError(`Cannot call ${name} on ${provider.slug}: it does not have it for this model`, {
    code: "unsupported_endpoint",
    param: "model",
  });
}
