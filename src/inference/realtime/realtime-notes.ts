import type { SocketMessage } from "../../../packages/websocket-frames/src/frames.ts";
import type { UncountedCall } from "../../context/call-record.ts";
import { finiteNumber, isObject, parseJson, stringOf } from "../../lib/json.ts";
import { BodyPieces } from "../../logs/body.ts";
import { addUsage, toLoggedUsage, withUnits } from "../../logs/usage.ts";
import type { LoggedUsage } from "../../schemas/logs.ts";

/** What another model than that of the session used to transcribe what the user said. */
interface TranscriptionUse {
  /** Null where the upstream did not name it. */
  readonly model: string | null;
  readonly usage: LoggedUsage;
}

/** What is logged of a realtime session. */
export interface SessionNotes {
  /** Observes a message of the upstream. */
  add(message: SocketMessage): void;
  /** Tokens of its responses since `forgetUsage`; null when it reported none. */
  usage(): LoggedUsage | null;
  /** The tokens so far have a log row: only those of later responses count from now on. */
  forgetUsage(): void;
  /** The model the upstream named. */
  model(): string | null;
  /** Counts of transcriptions of what the user said since `forgetTranscription`; null without any. */
  transcription(): TranscriptionUse | null;
  /** The transcriptions so far have a log row. */
  forgetTranscription(): void;
  /** Its responses whose tokens the upstream did not report. */
  uncounted(): readonly UncountedCall[];
  /** The logged events, one per line; null without events. */
  events(): BodyPieces | null;
}

/**
 * Events that are logged (https://platform.openai.com/docs/api-reference/realtime-server-events). Their JSON may be
 * laid out in any way, but names its type.
 */
const loggedEvents = /"type"\s*:\s*"(session\.created|session\.updated|response\.done|error)"/;

/** Events with what was said to the model, as the server accepted it. */
const accepted = /"type"\s*:\s*"conversation\.item\.(?:created|added)"/;

/** Most characters of events that are remembered to estimate tokens of responses without counts. */
const maxRemembered = 256 * 1024;

/** The event that has the counts of a transcription. It is not logged: it has what the user said. */
const transcribed = /"type"\s*:\s*"conversation\.item\.input_audio_transcription\.completed"/;

/** Counts of a transcription, by tokens or by seconds. */
function countsOfTranscription(usage: unknown): LoggedUsage | null {
  const counts = toLoggedUsage(usage);
  const seconds = isObject(usage) ? finiteNumber(usage.seconds) : undefined;
  return seconds !== undefined && seconds > 0 ? withUnits(counts, { units: { seconds } }) : counts;
}

/** The model that transcribes, as a session names it: in its audio settings, or at the top in the beta of the API. */
function transcriberOf({ audio, input_audio_transcription: ofBeta }: Record<string, unknown>): string | undefined {
  const input = isObject(audio) ? audio.input : undefined;
  const settings = isObject(input) ? input.transcription : ofBeta;
  return isObject(settings) ? stringOf(settings.model) : undefined;
}

/** What responses without counts are estimated from. */
class UnreportedResponses {
  readonly #heard: object[] = [];
  readonly #output: unknown[] = [];
  #room = maxRemembered;

  /** Remembers an item of the conversation. */
  hear(item: object, length: number): void {
    if (this.#take(length)) this.#heard.push(item);
  }

  /** Remembers a response. */
  add(response: Readonly<Record<string, unknown>>, length: number): void {
    const output: unknown[] = Array.isArray(response.output) ? response.output : [];
    // one that failed says nothing and has no counts
    if (output.length > 0) this.#output.push(...(this.#take(length) ? output : [{}]));
  }

  #take(length: number): boolean {
    this.#room -= length;
    return this.#room >= 0;
  }

  toCalls(session: object): UncountedCall[] {
    if (this.#output.length === 0) return [];
    const request = { ...session, input: this.#heard };
    const written = { form: "answer" as const, answer: { output: this.#output } };
    return [{ request, written, reported: null, isCut: false }];
  }
}

const encoder = new TextEncoder();

/** Creates the notes of one session. */
export function createSessionNotes(): SessionNotes {
  const pieces = new BodyPieces();
  let usage: LoggedUsage | null = null;
  let model: string | null = null;
  let transcriber: string | undefined;
  let transcription: TranscriptionUse | null = null;
  let instructions: string | undefined;
  const unreported = new UnreportedResponses();
  const transcribe = (message: string) => {
    const event = parseJson(message);
    const counts = isObject(event) ? countsOfTranscription(event.usage) : null;
    const usage = addUsage(transcription?.usage ?? null, counts);
    if (usage) transcription = { model: transcriber ?? null, usage };
  };
  return {
    add(message) {
      if (typeof message !== "string") return;
      if (!loggedEvents.test(message)) {
        if (transcribed.test(message)) transcribe(message);
        else if (accepted.test(message)) {
          const event = parseJson(message);
          const { item } = isObject(event) ? event : {};
          // the model's own items are part of its responses
          if (isObject(item) && item.role !== "assistant") unreported.hear(item, message.length);
        }
        return;
      }
      const event = parseJson(message);
      if (!isObject(event)) return;
      const { type, response, session } = event;
      if (type === "response.done" && isObject(response)) {
        const counts = toLoggedUsage(response.usage);
        usage = addUsage(usage, counts);
        if (!counts || counts.total_tokens === 0) unreported.add(response, message.length);
      }
      if (isObject(session)) {
        model ??= stringOf(session.model) ?? null;
        instructions = stringOf(session.instructions) ?? instructions;
        transcriber = transcriberOf(session) ?? transcriber;
      }
      pieces.add(encoder.encode(`${message}\n`));
    },
    usage: () => usage,
    forgetUsage() {
      usage = null;
    },
    model: () => model,
    transcription: () => transcription,
    forgetTranscription() {
      transcription = null;
    },
    uncounted: () => unreported.toCalls(instructions === undefined ? {} : { instructions }),
    events: () => (pieces.length === 0 ? null : pieces),
  };
}
