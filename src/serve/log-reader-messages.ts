import { InvalidRequestError } from "../errors.ts";
import type { LogReader } from "../logs/read/log-reader.ts";

// What the thread that reads the log and the one that asks it send each other.

/** Questions that a reader answers, by their names. */
type QuestionKind = Exclude<keyof LogReader, "close">;

/** A message to the thread. */
export type ReaderRequest =
  | { [Kind in QuestionKind]: { id: number; kind: Kind; question: Parameters<LogReader[Kind]>[0] } }[QuestionKind]
  | { id: number; kind: "close" };

/** Why the caller cannot have an answer. */
interface Refusal {
  readonly message: string;
  readonly code: string | null;
  readonly param: string | null;
}

/** A reply of the thread. */
export type ReaderReply = { readonly answer: unknown } | { readonly refused: Refusal };

/** The reply with an answer, or with why the caller cannot have it. Other failures remain as they are. */
export async function toReaderReply(answer: Promise<unknown>): Promise<ReaderReply> {
  try {
    return { answer: await answer };
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    const { message, code, param } = error;
    return { refused: { message, code, param } };
  }
}

/** @throws {InvalidRequestError} If the caller cannot have the answer. */
export function readReaderReply(reply: ReaderReply): unknown {
  if ("answer" in reply) return reply.answer;
  const { message, code, param } = reply.refused;
  throw new InvalidRequestError(message, { ...(code !== null && { code }), ...(param !== null && { param }) });
}
