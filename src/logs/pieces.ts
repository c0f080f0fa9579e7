import type { Steps } from "../lib/steps.ts";
import { assembleStream } from "./assemble.ts";

/** Whether a text begins like a stream of events. */
export function isEventText(text: string): boolean {
  return /^(?:event|data|:)/.test(text);
}

/** Members that hold the pieces of a streamed text, whichever API they are of. */
const pieceForm =
  /"(?:content|text|delta|arguments|partial_json|input|thinking|reasoning_content|reasoning|refusal|transcript)"\s*:\s*"([^"\\\n]*(?:\\[^\n][^"\\\n]*)*)"/g;

/** An event that does not belong to the first text of its stream: pieces of several may come in turn. */
const furtherText = /"(?:output_|content_)?index"\s*:\s*[1-9]/;

/** The pieces of a stream one after the other: much less work than putting its answer together. */
function joinPieces(text: string): string {
  let joined = "";
  for (const [, piece] of text.matchAll(pieceForm)) joined += piece;
  return joined;
}

/**
 * A stream whose pieces add up to something that is masked, as the masked answer it adds up to; any other stays.
 *
 * @param mask Gives a text back as it is where nothing has to be masked.
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
