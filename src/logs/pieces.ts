import type { Steps } from "../lib/steps.ts";
import { assembleStream } from "./assemble.ts";

/** Whether a text begins like an event stream. */
export function isEventText(text: string): boolean {
  return /^(?:event|data|:)/.test(text);
}

/** Fields that hold the pieces of a streamed text, for every API. */
const pieceForm =
  /"(?:content|text|delta|arguments|partial_json|input|thinking|reasoning_content|reasoning|refusal|transcript)"\s*:\s*"([^"\\\n]*(?:\\[^\n][^"\\\n]*)*)"/g;

/** An event that belongs to another text than the first: pieces of several may be interleaved. */
const furtherText = /"(?:output_|content_)?index"\s*:\s*[1-9]/;

/** The concatenated pieces of a stream: much cheaper than assembling its response. */
function joinPieces(text: string): string {
  let joined = "";
  for (const [, piece] of text.matchAll(pieceForm)) joined += piece;
  return joined;
}

/**
 * Masks a stream in which only joined pieces show a secret: it becomes the masked response. Others stay unchanged.
 *
 * @param mask Returns a text unchanged where nothing has to be masked.
 */
export function* maskAcrossPieces(text: string, mask: (text: string) => Steps<string>): Steps<string> {
  if (!furtherText.test(text)) {
    const joined = joinPieces(text);
    yield text.length;
    if ((yield* mask(joined)) === joined) return text;
  }
  const answer = assembleStream(text);
  if (answer === undefined) return text;
  const whole = JSON.stringify(answer);
  yield text.length;
  const masked = yield* mask(whole);
  return masked === whole ? text : masked;
}
