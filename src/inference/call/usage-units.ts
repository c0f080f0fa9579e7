import type { CallerContext } from "../../context.ts";
import { finiteNumber, isObject, nonEmptyString, stringOf } from "../../lib/json.ts";
import { type FurtherCounts, toLoggedUsage, withUnits } from "../../logs/usage.ts";
import type { OperationName, Operations } from "../../providers/core/operations.ts";
import { type CountedUnit, operationFacts } from "../facts/operation-facts.ts";

/** What is counted from: the request as it was sent, and the response where it was read. */
interface CountedCall<Name extends OperationName> {
  name: Name;
  request: Operations[Name]["request"];
  answer: object | undefined;
  /** A header of the client. */
  clientHeader: ((name: string) => string | undefined) | undefined;
}

function numberOf(value: unknown): number | undefined {
  const number = finiteNumber(nonEmptyString(value) === undefined ? value : Number(value));
  return number !== undefined && number > 0 ? number : undefined;
}

const unit = (name: string, count: number | undefined): FurtherCounts =>
  count === undefined ? {} : { units: { [name]: count } };

function member(holder: unknown, name: string): unknown {
  return isObject(holder) ? holder[name] : undefined;
}

type Reader = (call: Omit<CountedCall<OperationName>, "name">) => FurtherCounts;

/** Length of the audio: reported by the provider in seconds, or by the client in milliseconds. */
const readSeconds: Reader = ({ answer, clientHeader }) => {
  const seconds = numberOf(member(member(answer, "usage"), "seconds")) ?? numberOf(member(answer, "duration"));
  const ofClient = numberOf(clientHeader?.("audio-file-duration"));
  return unit("seconds", seconds ?? (ofClient === undefined ? undefined : ofClient / 1_000));
};

const readImages: Reader = ({ answer, request }) => {
  const made = member(answer, "data");
  if (!Array.isArray(made) || made.length === 0) return {};
  const of = (name: string) => stringOf(member(answer, name)) ?? stringOf(member(request, name));
  const [quality, size] = [of("quality"), of("size")];
  const image = { ...(quality !== undefined && { quality }), ...(size !== undefined && { size }) };
  return { units: { images: made.length }, image };
};

/** How units other than tokens are read. */
const readers: Readonly<Record<CountedUnit, Reader>> = {
  none: () => ({}),
  pages: ({ answer }) => unit("pages", numberOf(member(member(answer, "usage_info"), "pages_processed"))),
  search_units: ({ answer }) => unit("search_units", numberOf(member(member(answer, "usage"), "search_units"))),
  seconds: readSeconds,
  images: readImages,
  characters: ({ request }) => unit("characters", numberOf([...(stringOf(member(request, "input")) ?? "")].length)),
};

/** Reads the counts of a response. */
export interface Counting {
  /** Token counts of the client's response. */
  usageOf(answer: object): unknown;
  /** Counts besides tokens; if the response was not read, those known without it. */
  furtherCountsOf(answer: object | undefined): FurtherCounts;
}

/** What a call counts besides tokens. */
export function readFurtherCounts<Name extends OperationName>(call: CountedCall<Name>): FurtherCounts {
  return readers[operationFacts[call.name].counted](call);
}

/** Records the counts of a response and the model it names. */
export function noteCounts({ log }: CallerContext, operation: Counting, answer: object | undefined): void {
  const usage = answer === undefined ? null : toLoggedUsage(operation.usageOf(answer));
  log.usage = withUnits(usage, operation.furtherCountsOf(answer));
  log.answeredModel = stringOf(member(answer, "model")) ?? stringOf(member(answer, "modelVersion")) ?? null;
}
