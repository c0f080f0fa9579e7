import { isObject } from "../lib/json.ts";
import { createValueMask, type ValueMask } from "../lib/secret-values.ts";
import type { LogBatch } from "../schemas/logs.ts";
import { textOfBody } from "./body.ts";
import type { BodyLengths, PackedBatch } from "./pack.ts";
import { isEventText, maskAcrossPieces } from "./pieces.ts";
import type { Redactor } from "./redact.ts";
import { masked } from "./secret-members.ts";

const decoder = new TextDecoder();

/** Masks the rows of a batch: anything that looks like a credential, and the credentials of each row. */
interface Masks {
  redactor: Redactor;
  values: readonly ValueMask[];
  /** Index into the values, per row. */
  rows: readonly number[];
}

/** The batch as it is stored: without the credentials of its requests, and without anything that looks like one. */
export function sealBatch({ heads, lengths, bodies, secrets, ...batch }: PackedBatch, redactor: Redactor): LogBatch {
  const { lists, rows } = secrets;
  const values = lists.map((list) => createValueMask(list, () => masked));
  const masks: Masks = { redactor, values, rows };
  const sealed = sealBodies(bodies, lengths, masks);
  return {
    ...batch,
    details: sealRows(batch.details, masks),
    content: `${sealed.lengths}\n${sealRows(heads, masks)}\n${sealed.text}`,
  };
}

/** Fields with ids of the gateway: no caller can choose their values. */
const ownMembers = new Set(["id", "organisation_id", "workspace_id", "api_key_id", "method", "operation", "type"]);

/** A value with its strings masked; field names stay. */
export function maskStrings(value: unknown, mask: (text: string) => string): unknown {
  if (typeof value === "string") return mask(value);
  if (Array.isArray(value)) return value.map((item) => maskStrings(item, mask));
  if (!isObject(value)) return value;
  const shown = Object.entries(value).map(([name, member]) => [
    name,
    ownMembers.has(name) ? member : maskStrings(member, mask),
  ]);
  return Object.fromEntries(shown);
}

/** Masks a JSON array with one value per row. */
function sealRows(text: string, { redactor, values, rows }: Masks): string {
  if (!values.some((one) => one.mayStandIn(text))) return redactor.text(text);
  // written by `packRecords`
  const parsed = JSON.parse(text) as unknown[];
  const shown = parsed.map((row, index) => {
    const own = values[rows[index] ?? 0];
    return own ? maskStrings(row, own.mask) : row;
  });
  return redactor.text(JSON.stringify(shown));
}

/** Bodies as one text, with their lengths in characters. */
function sealBodies(bodies: Uint8Array, lengths: string, masks: Masks): { text: string; lengths: string } {
  const { redactor, values, rows } = masks;
  const isFine = (text: string) =>
    !(text.includes("\0") || text.includes("data:") || redactor.mayHoldSecret(text)) &&
    !values.some((one) => one.mayStandIn(text));
  const whole = decoder.decode(bodies);
  // in ASCII, the usual case, a body has as many characters as bytes
  if (whole.length === bodies.length && isFine(whole)) return { text: whole, lengths };
  const texts = readBodies(bodies, lengths);
  const text = texts.flat().join("");
  if (isFine(text)) return { text, lengths: toLengths(texts) };
  const sealed = texts.map((row, index) => {
    const own = values[rows[index] ?? 0];
    const mask = (body: string) => redactor.text(own?.mayStandIn(body) ? own.mask(body) : body);
    return row?.map((body) => body && storedText(sealBody(body, mask))) ?? null;
  });
  return { text: sealed.flat().join(""), lengths: toLengths(sealed) };
}

/** Secrets are looked for in each event first, then in the assembled stream. */
function sealBody(body: string, mask: (text: string) => string): string {
  const shown = mask(body);
  return isEventText(shown) ? maskAcrossPieces(shown, mask) : shown;
}

type BodyTexts = (readonly (string | null)[] | null)[];

/** Each body as text. */
function readBodies(bodies: Uint8Array, lengths: string): BodyTexts {
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

function toLengths(texts: BodyTexts): string {
  return JSON.stringify(texts.map((row) => row?.map((body) => body?.length ?? null) ?? null));
}

/** Text that the database stores completely: it would cut it at U+0000. */
function storedText(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\\u0000") : text;
}
