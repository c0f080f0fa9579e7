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
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ResponsesRequest } from "../../schemas/responses.ts";
import { type Counting, readFurtherCounts } from "../call/usage-units.ts";
import { asksForUsage, isStreamed, type Media, operationFacts } from "../facts/operation-facts.ts";
import { CompletionObserver } from "../stream/completion-observer.ts";
import { ContentObserver } from "../stream/content-observer.ts";
import { createNumberStages } from "../stream/conversion-stages.ts";
import { createPlainMapper, DialectObserver } from "../stream/dialect-observer.ts";
import { MappedObserver } from "../stream/mapped-observer.ts";
import type { StageParts, StreamObserver } from "../stream/stages.ts";
import { ReframedObserver, TypedObserver } from "../stream/typed-observer.ts";
import { typedStreams } from "../stream/typed-streams.ts";
import { ChargeMeter, chargeOf } from "./charge-meter.ts";
import { findChat, findInPlaceOfChat, isConvertedThere } from "./chat-choice.ts";
import { dialects, isDialect } from "./dialects.ts";
import { type FallbackOperation, fallbackOperations } from "./fallback-operations.ts";

/** One request as one provider serves it: whichever operation and dialect that takes. */
export interface ServedOperation extends Counting {
  readonly method: "GET" | "POST";
  /** Path below the provider's base address. */
  readonly path: string;
  readonly framing: StreamFraming;
  /** Whether a streamed response is requested. */
  readonly streamed: boolean;
  /** Facts about bodies that are not JSON or hold media. */
  readonly media: MediaFacts;
  /** Extra headers of the upstream's request. */
  headers(given: Readonly<Record<string, string>>): Record<string, string>;
  /** The upstream's request. */
  body(): unknown;
  /** The client's response from the upstream's; undefined where the upstream's already has that shape. */
  answer(body: unknown): object | undefined;
  /**
   * As `answer`, for upstream responses that are not JSON; absent where those are forwarded unchanged or refused.
   */
  readonly answerBytes?: ((answer: BinaryAnswer) => object) | undefined;
  /** The stages that make the client's stream of the upstream's. */
  createStages(): StageParts;
  /**
   * Nano-dollars that the provider reported as the cost of the last response; null where it reported none.
   *
   * @param usage That of a stream which reached the client as it came.
   */
  chargeOf(usage?: unknown): number | null;
  /**
   * The operation with a corrected request, to be sent once after the provider refused the first one; undefined if it
   * cannot be corrected.
   */
  repair?: ((failure: CallFailure) => ServedOperation | undefined) | undefined;
}

/** Facts about an operation whose bodies hold media. */
interface MediaFacts {
  /** The client's request is a form where it can be one. */
  readonly isForm: boolean;
  /** Responses that are not JSON are forwarded to the client unchanged. */
  readonly flows: boolean;
  /** The client asked for plain text. */
  readonly isPlain: boolean;
  /** Bodies hold audio or images, which are not logged. */
  readonly isHeavy: boolean;
  /** The upstream's response is a JSON list. */
  readonly isList: boolean;
  /** A field named `error` does not mean that the whole request failed. */
  readonly readsErrors: boolean;
  /** Most bytes of one event of a stream; undefined: the default. */
  readonly maxEventBytes: number | undefined;
}

/** Whether the client sends a form, whether responses are forwarded unchanged, and whether bodies are too large for logs. */
const mediaForms: Readonly<Record<Media, Pick<MediaFacts, "isForm" | "flows" | "isHeavy">>> = {
  none: { isForm: false, flows: false, isHeavy: false },
  images: { isForm: false, flows: false, isHeavy: true },
  speech: { isForm: false, flows: true, isHeavy: true },
  transcript: { isForm: true, flows: true, isHeavy: false },
};
const plainFormats: readonly unknown[] = ["text", "srt", "vtt"];

function toMediaFacts<Name extends OperationName>({ name, adapter, request }: OperationParts<Name>): MediaFacts {
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
interface OperationParts<Name extends OperationName> {
  name: Name;
  adapter: OperationAdapter<Name>;
  request: Operations[Name]["request"];
  provider: BoundProvider;
  options: ConversionOptions;
  /** Reads what the response cost; undefined for providers that report no cost. */
  meter: ChargeMeter | undefined;
}

/** Stages around a conversion that parses the provider's events. */
const aroundParsing = (
  convert: StreamObserver,
  charge: ChargeMeter | undefined,
  { numbers }: ConversionOptions,
): StageParts => ({ charge, convert, ...createNumberStages(numbers) });

/** What reads the costs that a provider reports, if it does. */
const meterOf = ({ charges }: BoundProvider): ChargeMeter | undefined => charges && new ChargeMeter(charges);

/** The stages of a streamed response, where the provider has the operation itself. */
function createNativeStages<Name extends OperationName>({
  name,
  adapter,
  request,
  provider,
  options,
  meter,
}: OperationParts<Name>): StageParts {
  const { events } = operationFacts[name];
  const { slug } = provider;
  if (events === "contents") return { convert: new ContentObserver() };
  const corrector = adapter.chunkCorrector?.(request, options);
  const mapper = corrector ? undefined : adapter.streamMapper?.(request, options);
  const typed = typedStreams[events];
  if (typed && mapper) return aroundParsing(new ReframedObserver(typed, mapper, slug), meter, options);
  if (typed) return { convert: new TypedObserver(typed) };
  const includeUsage = asksForUsage(request);
  if (mapper) return aroundParsing(new MappedObserver({ mapper, provider: slug, includeUsage }), meter, options);
  const convert = new CompletionObserver({ includeUsage, corrector });
  return corrector ? aroundParsing(convert, meter, options) : { convert };
}

/** Token counts of a response, in any of the shapes there are. */
const usageOf = (answer: object): unknown => Reflect.get(answer, "usage") ?? fromUsageMetadata(answer);

function serve<Name extends OperationName>(parts: OperationParts<Name>): ServedOperation {
  const { name, adapter, request, options, provider, meter } = parts;
  return {
    name,
    method: adapter.method ?? "POST",
    path: adapter.path(request),
    framing: adapter.framing ?? "sse",
    streamed: isStreamed(name, request),
    media: toMediaFacts(parts),
    request,
    headers: (given) => adapter.headers?.(request, given) ?? {},
    body: () => (adapter.toUpstream ? adapter.toUpstream(request, options) : request),
    answer(body) {
      meter?.reset();
      meter?.read(body);
      const answer = adapter.fromUpstream?.(body, request, options);
      // the adapter knows costs that stand elsewhere
      if (meter?.charge === null) meter.read(answer);
      return answer;
    },
    chargeOf: (usage) => (meter ? (meter.charge ?? chargeOf(provider.charges, usage)) : null),
    usageOf,
    furtherCountsOf: (answer) => readFurtherCounts({ name, request, answer, clientHeader: options.clientHeader }),
    answerBytes: adapter.fromBytes && ((answer) => adapter.fromBytes?.(answer, request, options) ?? {}),
    createStages() {
      meter?.reset();
      return createNativeStages(parts);
    },
    repair:
      adapter.repair &&
      ((failure) => {
        const repaired = adapter.repair?.(request, failure, options);
        return repaired && serve({ ...parts, request: repaired });
      }),
  };
}

/** The response and its counts before conversion: the other dialect may lack some of the counts. */
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
  provider: BoundProvider,
  given: ConversionOptions & DialectOptions,
): ServedOperation {
  // other dialects have fields for reasoning, so the chat is asked for all of it
  const options: ConversionOptions & DialectOptions = { ...given, strict: false, isConverted: true };
  const chat = dialect.toChat(request, options);
  const adapter = findChat(chat, provider, options);
  const serveChat = (asked: Operations["chat"]["request"]): ServedOperation => {
    const meter = meterOf(provider);
    const served = serve({ name: "chat", adapter, request: asked, provider, options, meter });
    const counted = countFirst(served);
    return {
      ...served,
      usageOf: counted.usageOf,
      answer: (body) => dialect.fromChat(counted.answer(body) as Operations["chat"]["response"], request, options), // parsed leniently
      createStages() {
        meter?.reset();
        const mapper =
          adapter.streamMapper?.(asked, options) ??
          createPlainMapper(provider.slug, adapter.chunkCorrector?.(asked, options));
        const convert = new DialectObserver({
          mapper,
          events: dialect.createEvents(request, options),
          encode: dialect.encode,
          provider: provider.slug,
        });
        return aroundParsing(convert, meter, options);
      },
      repair:
        adapter.repair &&
        ((failure) => {
          const repaired = adapter.repair?.(asked, failure, options);
          return repaired && serveChat(repaired);
        }),
    };
  };
  return serveChat(chat);
}

/** A request that another operation of the provider serves; undefined where the provider lacks that one too. */
function serveOver(
  { over, toRequest, fromAnswer }: FallbackOperation,
  request: Operations[OperationName]["request"],
  provider: BoundProvider,
  options: ConversionOptions & DialectOptions,
): ServedOperation | undefined {
  if (!provider.operations[over]) return undefined;
  const asked = toRequest(request, options);
  const adapter = findOperation(provider, over, asked);
  if (!adapter) return undefined;
  const served = serve({ name: over, adapter, request: asked, provider, options, meter: meterOf(provider) });
  if (!fromAnswer) return served;
  const counted = countFirst(served);
  return {
    ...served,
    usageOf: counted.usageOf,
    answer: (body) => fromAnswer(counted.answer(body) as Operations[OperationName]["response"]), // parsed leniently
  };
}

/**
 * Refuses an operation the provider cannot serve at all.
 *
 * @throws {InvalidRequestError}
 */
export function requireServed(provider: BoundProvider, name: OperationName): void {
  const over = fallbackOperations[name]?.over;
  // decisions can be made of chats too
  if (provider.operations.chat && (isDialect(name) || name === "decide")) return;
  if (over === undefined || !provider.operations[over]) requireOperation(provider, name);
}

/**
 * How a provider serves a request: by the operation itself where it has it, else by a fallback operation or its chat.
 *
 * @throws {InvalidRequestError} If it has none of them, or they cannot express the request.
 */
export function serveOperation<Name extends OperationName>(
  name: Name,
  request: Operations[Name]["request"],
  provider: BoundProvider,
  options: ConversionOptions & DialectOptions,
): ServedOperation {
  const meter = meterOf(provider);
  const adapter = findOperation(provider, name, request);
  const hasTools = Reflect.get(request, "tools") !== undefined;
  const mayBeOver = adapter && name === "chat" && hasTools;
  const over = mayBeOver ? findInPlaceOfChat(request as ChatRequest, provider, options) : undefined; // the name says which operation it is
  if (over) return serve({ name: "chat", adapter: over, request: request as ChatRequest, provider, options, meter });
  const isConverted =
    adapter && name === "responses" && isConvertedThere(request as ResponsesRequest, provider, options); // the name says which operation it is
  if (adapter && !isConverted) {
    // without the fields that only the gateway reads; the name says which operation it is
    const sent: Operations[Name]["request"] =
      name === "responses" ? toNativeRequest(request as ResponsesRequest) : request;
    return serve({ name, adapter, request: sent, provider, options, meter });
  }
  const fallback = fallbackOperations[name];
  const servedOver = fallback && serveOver(fallback, request, provider, options);
  if (servedOver) return servedOver;
  if (provider.operations.chat && isDialect(name)) {
    // the table holds the dialect of this operation
    const dialect = dialects[name] as unknown as Dialect<Operations[Name]["request"], Operations[Name]["response"]>;
    return serveThroughChat(dialect, request, provider, isConverted ? { ...options, overResponses: true } : options);
  }
  requireOperation(provider, name);
  throw new InvalidRequestError(
    `Cannot call ${name} on ${provider.slug}: the provider does not support this operation for the model`,
    {
      code: "unsupported_endpoint",
      param: "model",
    },
  );
}
