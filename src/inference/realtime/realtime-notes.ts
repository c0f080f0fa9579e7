import { finiteNumber, isObject, parseJson, stringOf } from "../../lib/json.ts";
import type { SocketMessage } from "../../lib/websocket.ts";
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
  /** The logged events, one per line; null without events. */
  events(): BodyPieces | null;
}

/**
 * Events that are logged (https://platform.openai.com/docs/api-reference/realtime-server-events). Their JSON may be
 * laid out in any way, but names its type.
 */
const loggedEvents = /"type"\s*:\s*"(session\.created|session\.updated|response\.done|error)"/;

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

const encoder = new TextEncoder();

/** Creates the notes of one session. */
export function createSessionNotes(): SessionNotes {
  const pieces = new BodyPieces();
  let usage: LoggedUsage | null = null;
  let model: string | null = null;
  let transcriber: string | undefined;
  let transcription: TranscriptionUse | null = null;
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
        return;
      }
      const event = parseJson(message);
      if (!isObject(event)) return;
      const { type, response, session } = event;
      if (type === "response.done" && isObject(response)) {
        usage = addUsage(usage, toLoggedUsage(response.usage));
      }
      if (isObject(session)) {
        model ??= stringOf(session.model) ?? null;
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
    events: () => (pieces.length === 0 ? null : pieces),
  };
}
