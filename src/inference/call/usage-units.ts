import type { CallerContext } from "../../context.ts";
import { isObject, objectsIn } from "../../lib/json.ts";
import { type FurtherCounts, toLoggedUsage, withTier, withUnits } from "../../logs/usage.ts";
import type { OperationName, Operations } from "../../providers/core/operations.ts";
import { type CountedUnit, operationFacts } from "../facts/operation-facts.ts";

/** What is counted from: the request as it went to the provider, and its answer where that was read. */
interface CountedCall<Name extends OperationName> {
  name: Name;
  request: Operations[Name]["request"];
  answer: object | undefined;
  /** A header of the client. */
  clientHeader: ((name: string) => string | undefined) | undefined;
}

function numberOf(value: unknown): number | undefined {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) && number > 0 ? number : undefined;
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

const unit = (name: string, count: number | undefined): FurtherCounts =>
  count === undefined ? {} : { units: { [name]: count } };

function member(holder: unknown, name: string): unknown {
  return isObject(holder) ? holder[name] : undefined;
}

type Reader = (call: Omit<CountedCall<OperationName>, "name">) => FurtherCounts;

/** Length of the audio: the provider reports seconds, or the client milliseconds. */
const readSeconds: Reader = ({ answer, clientHeader }) => {
  const seconds = numberOf(member(member(answer, "usage"), "seconds")) ?? numberOf(member(answer, "duration"));
  const ofClient = numberOf(clientHeader?.("audio-file-duration"));
  return unit("seconds", seconds ?? (ofClient === undefined ? undefined : ofClient / 1_000));
};

const readImages: Reader = ({ answer, request }) => {
  const made = member(answer, "data");
  if (!Array.isArray(made) || made.length === 0) return {};
  const of = (name: string) => textOf(member(answer, name)) ?? textOf(member(request, name));
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

/**
 * Calls of the provider's own tools; of a code interpreter, its containers
 * (https://platform.openai.com/docs/pricing#built-in-tools).
 */
const readTools: Reader = ({ answer }) => {
  const items = objectsIn(member(answer, "output"));
  const callsOf = (type: string) => items.filter((item) => isCharged(item, type));
  const containers = new Set(callsOf("code_interpreter_call").map((item) => item.container_id ?? item.id));
  const counts = {
    web_search: callsOf("web_search_call").length,
    file_search: callsOf("file_search_call").length,
    code_interpreter: containers.size,
  };
  const units = Object.entries(counts).filter(([, count]) => count > 0);
  return units.length === 0 ? {} : { units: Object.fromEntries(units) };
};

/** How the units besides tokens are read. */
const readers: Readonly<Record<CountedUnit, Reader>> = {
  none: () => ({}),
  pages: ({ answer }) => unit("pages", numberOf(member(member(answer, "usage_info"), "pages_processed"))),
  search_units: ({ answer }) => unit("search_units", numberOf(member(member(answer, "usage"), "search_units"))),
  seconds: readSeconds,
  images: readImages,
  tools: readTools,
  characters: ({ request }) => unit("characters", numberOf([...(textOf(member(request, "input")) ?? "")].length)),
};

/** What tells the counts of an answer. */
export interface Counting {
  /** Token counts of the client's answer. */
  usageOf(answer: object): unknown;
  /** What the client's answer counts besides tokens; of one that was not read, what is known without it. */
  furtherCountsOf(answer: object | undefined): FurtherCounts;
}

/** What a call counts besides tokens. */
export function readFurtherCounts<Name extends OperationName>(call: CountedCall<Name>): FurtherCounts {
  return readers[operationFacts[call.name].counted](call);
}

/** Takes note of what an answer counts and which model it names. */
export function noteCounts({ log }: CallerContext, operation: Counting, answer: object | undefined): void {
  const usage = answer === undefined ? null : toLoggedUsage(operation.usageOf(answer));
  log.usage = withTier(withUnits(usage, operation.furtherCountsOf(answer)), member(answer, "service_tier"));
  log.answeredModel = textOf(member(answer, "model")) ?? textOf(member(answer, "modelVersion")) ?? null;
}
