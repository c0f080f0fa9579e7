import type { UncountedCall, WrittenAnswer } from "../../context/call-record.ts";
import type { CallerContext } from "../../context.ts";
import { fromUsageMetadata } from "../../dialects/gemini/candidates.ts";
import { audioSeconds } from "../../lib/audio-duration.ts";
import { finiteNumber, isObject, nonEmptyString, objectsIn, stringOf } from "../../lib/json.ts";
import { FormFile } from "../../lib/multipart.ts";
import { type FurtherCounts, toLoggedUsage, withTier, withUnits } from "../../logs/usage.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import type { LoggedUsage } from "../../schemas/logs.ts";
import { type CountedUnit, operationFacts } from "../facts/operation-facts.ts";

/** What is counted from: the request as it was sent, and the response where it was read. */
interface CountedCall {
  name: OperationName;
  request: object;
  answer: object | undefined;
  /** A header of the client. */
  clientHeader: ((name: string) => string | undefined) | undefined;
}

function numberOf(value: unknown): number | undefined {
  const number = finiteNumber(nonEmptyString(value) === undefined ? value : Number(value));
  return number !== undefined && number > 0 ? number : undefined;
}

const nothing: FurtherCounts = {};

const unit = (name: string, count: number | undefined): FurtherCounts =>
  count === undefined ? nothing : { units: { [name]: count } };

function member(holder: unknown, name: string): unknown {
  return isObject(holder) ? holder[name] : undefined;
}

type Reader = (call: Omit<CountedCall, "name">) => FurtherCounts;

/** Length of the audio: reported by the provider in seconds, or by the client in milliseconds, or read of its file. */
const readSeconds: Reader = ({ answer, clientHeader, request }) => {
  const seconds = numberOf(member(member(answer, "usage"), "seconds")) ?? numberOf(member(answer, "duration"));
  if (seconds !== undefined) return unit("seconds", seconds);
  const ofClient = numberOf(clientHeader?.("audio-file-duration"));
  if (ofClient !== undefined) return unit("seconds", ofClient / 1_000);
  const file = member(request, "file");
  // where tokens are counted, they are what is paid for
  const isNeeded = file instanceof FormFile && toLoggedUsage(member(answer, "usage")) === null;
  return unit("seconds", isNeeded ? audioSeconds(file.bytes) : undefined);
};

const readImages: Reader = ({ answer, request }) => {
  const made = member(answer, "data");
  if (!Array.isArray(made) || made.length === 0) return {};
  const of = (name: string) => stringOf(member(answer, name)) ?? stringOf(member(request, name));
  const [quality, size] = [of("quality"), of("size")];
  const image = { ...(quality !== undefined && { quality }), ...(size !== undefined && { size }) };
  return { units: { images: made.length }, image };
};

/** Whether an item of a response is a call of a provider's tool that is charged for. Pages that are opened are not. */
function isCharged(item: Record<string, unknown>, type: string): boolean {
  if (item.type !== type || item.status === "failed") return false;
  const action = member(item.action, "type");
  return type !== "web_search_call" || action === undefined || action === "search";
}

/** Whether a response used the preview of web search, which has another price: its tools say so. */
function usesPreview(answer: unknown): boolean {
  const tools = objectsIn(member(answer, "tools"));
  return tools.some(({ type }) => typeof type === "string" && /^web_search_preview(?:_|$)/.test(type));
}

/** Models that search the web for each response (https://platform.openai.com/docs/guides/tools-web-search). */
const searchingModel = /-search-(?:preview|api)(?:-|$)/;

/** The search of a chat model that always makes one: no response counts it. */
const readSearches: Reader = ({ request, answer }) => {
  const model = stringOf(member(request, "model")) ?? stringOf(member(answer, "model")) ?? "";
  return searchingModel.test(model) ? unit("web_search", 1) : nothing;
};

/**
 * Calls of the provider's own tools; of a code interpreter, its containers
 * (https://platform.openai.com/docs/pricing#built-in-tools).
 */
function toolsOf(answer: unknown): FurtherCounts {
  const items = objectsIn(member(answer, "output"));
  const callsOf = (type: string) => items.filter((item) => isCharged(item, type));
  const containers = new Set(callsOf("code_interpreter_call").map((item) => item.container_id ?? item.id));
  const counts = {
    [usesPreview(answer) ? "web_search_preview" : "web_search"]: callsOf("web_search_call").length,
    file_search: callsOf("file_search_call").length,
    code_interpreter: containers.size,
  };
  const units = Object.entries(counts).filter(([, count]) => count > 0);
  return units.length === 0 ? {} : { units: Object.fromEntries(units) };
}

/**
 * Seconds of a video that is being made, by its size: this is what is paid for
 * (https://platform.openai.com/docs/api-reference/videos/object).
 */
function videoOf(answer: unknown): FurtherCounts {
  if (member(answer, "object") !== "video") return {};
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(stringOf(member(answer, "size")) ?? "") ?? [];
  const name = width === undefined ? "video_seconds" : `video_duration_seconds_${width}_${height}`;
  return unit(name, numberOf(member(answer, "seconds")));
}

/** How units other than tokens are read. */
const readers: Readonly<Record<CountedUnit, Reader>> = {
  none: () => nothing,
  pages: ({ answer }) => unit("pages", numberOf(member(member(answer, "usage_info"), "pages_processed"))),
  search_units: ({ answer }) => unit("search_units", numberOf(member(member(answer, "usage"), "search_units"))),
  seconds: readSeconds,
  images: readImages,
  tools: ({ answer }) => toolsOf(answer),
  searches: readSearches,
  web_searches: () => unit("web_search", 1),
  characters: ({ request }) => unit("characters", numberOf([...(stringOf(member(request, "input")) ?? "")].length)),
};

/** Reads the counts of a response. */
export interface Counting {
  readonly name: OperationName;
  /** What is asked for, in the gateway's shape. */
  readonly request: object;
  /** Token counts of the client's response. */
  usageOf(answer: object): unknown;
  /** Nano-dollars that the provider reported as the cost of the response; null where it reported none. */
  chargeOf(): number | null;
  /** Counts besides tokens; if the response was not read, those known without it. */
  furtherCountsOf(answer: object | undefined): FurtherCounts;
}

/** What a call counts besides tokens. */
export function readFurtherCounts(call: CountedCall): FurtherCounts {
  return readers[operationFacts[call.name].counted](call);
}

/** Counts of a response whose operation is not known: its tokens, its service tier and the calls of its provider's tools. */
export function countsOfBody(body: object): LoggedUsage | null {
  const usage = toLoggedUsage(member(body, "usage") ?? fromUsageMetadata(body));
  return withTier(withUnits(withUnits(usage, toolsOf(body)), videoOf(body)), member(body, "service_tier"));
}

/** What an answer says of its tokens, and what they can be estimated from. */
type GivenAnswer = Omit<UncountedCall, "isCut"> & { readonly isCut?: boolean };

/** Whether a usage has both counts that a call of this operation uses. */
function isComplete(usage: LoggedUsage | null, estimates: "all" | "input" | "none"): boolean {
  return usage !== null && usage.input_tokens > 0 && (usage.output_tokens > 0 || estimates === "input");
}

/**
 * What has to be estimated of a call: nothing where its provider reported all it used, or where its operation uses no
 * tokens that a text shows.
 */
export function uncountedOf(name: OperationName, { isCut = false, ...answer }: GivenAnswer): readonly UncountedCall[] {
  const { estimates, media } = operationFacts[name];
  // of a transcript that broke off, the text that came is known
  if (estimates === "none" && !(isCut && media === "transcript")) return [];
  if (!isCut && isComplete(answer.reported, estimates)) return [];
  const written: WrittenAnswer = estimates === "input" ? { form: "none" } : answer.written;
  return [{ ...answer, written, isCut }];
}

/** The model a response names. */
export function modelOfBody(body: object | undefined): string | null {
  return stringOf(member(body, "model")) ?? stringOf(member(body, "modelVersion")) ?? null;
}

/** Records the counts of a response and the model it names. */
export function noteCounts({ log }: CallerContext, operation: Counting, answer: object | undefined): void {
  const { name, request } = operation;
  const usage = answer === undefined ? null : toLoggedUsage(operation.usageOf(answer));
  log.parts = null;
  log.charge = answer === undefined ? null : operation.chargeOf();
  log.uncounted =
    answer === undefined ? [] : uncountedOf(name, { request, reported: usage, written: { form: "answer", answer } });
  log.usage = withTier(withUnits(usage, operation.furtherCountsOf(answer)), member(answer, "service_tier"));
  log.answeredModel = modelOfBody(answer);
}
