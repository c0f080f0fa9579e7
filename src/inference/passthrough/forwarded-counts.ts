import type { WrittenAnswer } from "../../context/call-record.ts";
import type { CallerContext } from "../../context.ts";
import { isJsonType } from "../../endpoint/body.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { maxLoggedBody, textOfBody } from "../../logs/body.ts";
import { type FurtherCounts, withUnits } from "../../logs/usage.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import { chargeOf } from "../adapt/charge-meter.ts";
import { settleDirectBatch } from "../call/direct-batch.ts";
import { readFurtherCounts, uncountedOf } from "../call/usage-units.ts";
import { type CountedUnit, isOperation, operationFacts } from "../facts/operation-facts.ts";
import type { ForwardReader } from "../stream/byte-relay.ts";
import { readClientHeader } from "../target/target.ts";
import { createEventCounts, createTextCounts, type ReportedCounts, readCounts } from "./answer-counts.ts";
import type { Upload } from "./upload.ts";

/** The operation that a forwarded request calls at its provider, where the gateway knows it. */
function operationOf({ leadsTo, method }: CallerContext): OperationName | undefined {
  return method === "POST" && leadsTo !== undefined && isOperation(leadsTo) ? leadsTo : undefined;
}

/** Whether the tokens of a forwarded request are estimated if its provider reports none. */
export function isEstimated(context: CallerContext): boolean {
  const name = operationOf(context);
  return name !== undefined && operationFacts[name].estimates !== "none";
}

/** How a forwarded response ended. */
interface ForwardedAnswer {
  upload: Upload;
  written: WrittenAnswer;
  isCut?: boolean;
}

/** Notes what has to be estimated of a forwarded request. */
function noteUncounted({ upload, written, isCut = false }: ForwardedAnswer, context: CallerContext): void {
  const name = operationOf(context);
  if (name === undefined || !isEstimated(context)) return;
  const { log } = context;
  if (uncountedOf(name, { request: {}, reported: log.usage, written, isCut }).length === 0) return;
  log.uncounted = uncountedOf(name, { request: requestOf(upload), reported: log.usage, written, isCut });
}

/** What a response reported, with the counts besides tokens that follow from the request and its response. */
function note({ usage, model, sent }: ReportedCounts, given: ForwardedParts, context: CallerContext): void {
  const { log, services } = context;
  const charges = log.provider === null ? undefined : services.providers.get(log.provider)?.charges;
  // a record that is read was paid for when it was made
  log.charge = context.method === "GET" ? null : chargeOf(charges, sent);
  log.usage = withUnits(usage, furtherCounts(given, context));
  log.answeredModel = model;
}

/** A forwarded request, and its response where it was read. */
interface ForwardedParts {
  upload: Upload;
  answer?: object;
}

/** Units that are paid for and follow from a request or its response alone. */
const countedUnits: ReadonlySet<CountedUnit> = new Set(["pages", "search_units", "seconds", "images", "characters"]);

function furtherCounts({ upload, answer }: ForwardedParts, context: CallerContext): FurtherCounts {
  const name = operationOf(context);
  if (name === undefined || !countedUnits.has(operationFacts[name].counted)) return {};
  const clientHeader = (header: string) => readClientHeader(header, context);
  return readFurtherCounts({ name, request: requestOf(upload), answer, clientHeader });
}

/** Notes what is counted of a forwarded request whatever its response says, such as the characters of speech. */
export function noteRequest(upload: Upload, context: CallerContext): void {
  context.log.usage = withUnits(null, furtherCounts({ upload }, context));
}

/**
 * Records the counts of a JSON response in memory, and the model and service tier it names.
 *
 * @returns A promise only where the response is a batch that may have to be counted.
 */
export function noteSmallAnswer(text: string, upload: Upload, context: CallerContext): Promise<void> | undefined {
  const counts = readCounts(text);
  if (counts) {
    note(counts, { upload, answer: counts.answer }, context);
    noteUncounted({ upload, written: { form: "answer", answer: counts.answer } }, context);
  }
  const { operation, provider: slug } = context.log;
  if (operation !== "retrieveBatch" || slug === null || context.connection.actingFor) return undefined;
  const batch = parseJson(text);
  const models = { canonical: (model: string) => model };
  return isObject(batch) ? settleDirectBatch(batch, { slug, models }, context) : undefined;
}

/** The request as its tokens are estimated. */
function requestOf({ members, body }: Upload): object {
  if (Object.keys(members).length > 0 || !(body instanceof Uint8Array)) return members;
  const value = parseJson(new TextDecoder().decode(body));
  return isObject(value) ? value : {};
}

function isEventStream(type: string | null): boolean {
  return /^text\/event-stream\s*(?:;|$)/i.test(type ?? "");
}

/** What reads the counts of a response while it is forwarded; undefined where it has none. */
export function createCounting(upstream: Response, upload: Upload, context: CallerContext): ForwardReader | undefined {
  const type = upstream.headers.get("content-type");
  const isStream = isEventStream(type);
  if (!upstream.ok || !(isStream || isJsonType(type ?? ""))) return undefined;
  const counts = isStream ? createEventCounts() : createTextCounts();
  let sentBytes = 0;
  return {
    push(bytes) {
      sentBytes += bytes.length;
      counts.push(bytes);
    },
    end(sent, isCut) {
      const isHeldWhole = sent.length < maxLoggedBody && !isCut;
      if (!isStream && isHeldWhole) return noteSmallAnswer(textOfBody(sent), upload, context);
      note(counts.result(), { upload }, context);
      context.log.isCut = isCut;
      const written: WrittenAnswer = isStream ? { form: "events", sent, sentBytes } : { form: "bytes", sentBytes };
      noteUncounted({ upload, written, isCut }, context);
      return undefined;
    },
  };
}
