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
  const isFine = (text: string) => !text.includes("\0") && !redactor.mayHoldSecret(text);
  const whole = decoder.decode(bodies);
  // in plain ASCII, which is usual, a body has as many characters as bytes
  if (whole.length === bodies.length && isFine(whole)) return { text: whole, lengths };
  const texts = readTexts(bodies, lengths);
  const text = texts.flat().join("");
  if (isFine(text)) return { text, lengths: toLengths(texts) };
  const sealed = texts.map((row) => row?.map((body) => body && storedText(redactor.text(body))) ?? null);
  return { text: sealed.flat().join(""), lengths: toLengths(sealed) };
}

type Texts = (readonly (string | null)[] | null)[];

/** Each body as text. */
function readTexts(bodies: Uint8Array, lengths: string): Texts {
  let position = 0;
  const read = (length: number | null): string | null => {
    if (length === null) return null;
    const start = position;
    position += length;
    return textOfBody(bodies.subarray(start, position));
  };
  // written by `packRecords`
  const rows = JSON.parse(lengths) as (BodyLengths | null)[];
  return rows.map((row) => row && [read(row[0]), read(row[1])]);
}

function toLengths(texts: Texts): string {
  return JSON.stringify(texts.map((row) => row?.map((body) => body?.length ?? null) ?? null));
}

/** Text the database keeps whole: it would cut it at U+0000. */
function storedText(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\\u0000") : text;
}
