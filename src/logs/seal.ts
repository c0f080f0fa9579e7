import type { LogBatch } from "../schemas/logs.ts";
import { textOfBody } from "./body.ts";
import type { BodyLengths, PackedBatch } from "./pack.ts";
import type { Redactor } from "./redact.ts";

const decoder = new TextDecoder();

/** The batch as it is stored: without anything that has the form of a credential. */
export function sealBatch({ heads, lengths, bodies, ...batch }: PackedBatch, redactor: Redactor): LogBatch {
  const sealed = sealBodies(bodies, lengths, redactor);
  return {
    ...batch,
    details: redactor.text(batch.details),
    content: `${sealed.lengths}\n${redactor.text(heads)}\n${sealed.text}`,
  };
}

/** Bodies as one text, and their lengths in characters. */
function sealBodies(bodies: Uint8Array, lengths: string, redactor: Redactor): { text: string; lengths: string } {
  const whole = decoder.decode(bodies);
  // in plain ASCII without a secret, which is usual, a body has as many characters as bytes, and they are looked at together
  const isAscii = whole.length === bodies.length;
  if (isAscii && !whole.includes("\0") && !redactor.mayHoldSecret(whole)) return { text: whole, lengths };
  let position = 0;
  let text = "";
  const seal = (length: number | null): number | null => {
    if (length === null) return null;
    const body = storedText(redactor.text(textOfBody(bodies.subarray(position, position + length))));
    position += length;
    text += body;
    return body.length;
  };
  // written by `packRecords`
  const rows = JSON.parse(lengths) as (BodyLengths | null)[];
  const sealed = rows.map((row): BodyLengths | null => row && [seal(row[0]), seal(row[1])]);
  return { text, lengths: JSON.stringify(sealed) };
}

/** Text the database keeps whole: it would cut it at U+0000. */
function storedText(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\\u0000") : text;
}
