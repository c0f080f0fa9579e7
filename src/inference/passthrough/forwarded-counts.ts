import type { CallerContext } from "../../context.ts";
import { isJsonType } from "../../endpoint.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import type { Ending } from "../../lib/reply.ts";
import { type BodyPieces, maxLoggedBody, textOfBody } from "../../logs/body.ts";
import { settleDirectBatch } from "../call/direct-batch.ts";
import { estimateCut } from "../call/estimate-usage.ts";
import { isOperation, operationFacts, type StreamEvents } from "../facts/operation-facts.ts";
import {
  type AnswerCounts,
  createEventCounts,
  createTextCounts,
  type ReportedCounts,
  readCounts,
} from "./answer-counts.ts";
import type { Upload } from "./upload.ts";

/** Streams whose text can be counted where their provider reports no tokens. */
const textEvents: ReadonlySet<StreamEvents> = new Set(["chunks", "contents", "messages", "responses"]);

/**
 * Whether the tokens of a forwarded stream are estimated if its provider reports none: it calls an operation that the
 * gateway knows.
 */
export function isEstimated({ leadsTo }: CallerContext): boolean {
  return leadsTo !== undefined && isOperation(leadsTo) && textEvents.has(operationFacts[leadsTo].events);
}

function note({ usage, model }: ReportedCounts, { log }: CallerContext): void {
  log.usage = usage;
  log.answeredModel = model;
}

/**
 * Records the counts of a JSON response in memory, and the model and service tier it names.
 *
 * @returns A promise only where the response is a batch that may have to be counted.
 */
export function noteSmallAnswer(text: string, context: CallerContext): void | Promise<void> {
  const counts = readCounts(text);
  if (counts) note(counts, context);
  const { operation, provider: slug } = context.log;
  if (operation !== "retrieveBatch" || slug === null || context.connection.actingFor) return;
  const batch = parseJson(text);
  const models = { canonical: (model: string) => model };
  return isObject(batch) ? settleDirectBatch(batch, { slug, models }, context) : undefined;
}

/** Reads the counts of a response while it is forwarded. */
interface Counting {
  readonly observe: (bytes: Uint8Array) => void;
  /** The ending of the response, which also records its counts. */
  toEnding(ending: Ending): Ending;
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

/** Creates what reads the counts of a response; undefined where it has none. */
export function createCounting(upstream: Response, upload: Upload, context: CallerContext): Counting | undefined {
  const type = upstream.headers.get("content-type");
  const isStream = isEventStream(type);
  if (!upstream.ok || !(isStream || isJsonType(type ?? ""))) return undefined;
  const counts = isStream ? createEventCounts() : createTextCounts();
  let sentBytes = 0;
  return {
    observe(bytes) {
      sentBytes += bytes.length;
      counts.push(bytes);
    },
    toEnding: (ending) => ({
      ...ending,
      // without a promise where it can: the request then ends together with its response
      note() {
        void ending.note?.();
        const { log } = context;
        const sent = log.responseBody as BodyPieces | null; // of a forwarded text
        const isCut = ending.status !== upstream.status;
        if (isStream) return noteStream({ counts, sent, sentBytes, isCut }, upload, context);
        if (sent && sent.length < maxLoggedBody) return noteSmallAnswer(textOfBody(sent), context);
        note(counts.result(), context);
      },
    }),
  };
}

/** A forwarded stream that is over. */
interface EndedStream {
  counts: AnswerCounts;
  sent: BodyPieces | null;
  sentBytes: number;
  isCut: boolean;
}

function noteStream(ended: EndedStream, upload: Upload, context: CallerContext): void | Promise<void> {
  const { counts, sent, sentBytes, isCut } = ended;
  const reported = counts.result();
  note(reported, context);
  context.log.isCut = isCut;
  if (!isEstimated(context) || !sent || (reported.usage && !isCut)) return;
  return estimate({ request: requestOf(upload), reported: reported.usage, sent, sentBytes }, context);
}

async function estimate(stream: Parameters<typeof estimateCut>[0], { log, services }: CallerContext): Promise<void> {
  const { usage, isEstimated: isGuess } = await estimateCut(stream, services);
  log.usage = usage;
  log.isEstimated ||= isGuess;
}
