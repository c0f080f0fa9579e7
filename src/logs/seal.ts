import { spanEnds } from "../lib/json-spans.ts";
import { mapStrings } from "../lib/json-strings.ts";
import { createValueMask, type ValueMask } from "../lib/secret-values.ts";
import { runNow, type Steps } from "../lib/steps.ts";
import type { LateBody, LateContent, LogBatch, LogDetails } from "../schemas/logs.ts";
import { assembleStream } from "./assemble.ts";
import { textOfBody } from "./body.ts";
import type { BodyLengths, PackedBatch } from "./pack.ts";
import type { LogRecord } from "./record.ts";
import type { Redactor } from "./redact.ts";
import { masked } from "./secret-members.ts";

const decoder = new TextDecoder();

/** Masks the rows of a batch: anything that looks like a credential, and the credentials of each row. */
interface Masks {
  redactor: Redactor;
  lists: readonly (readonly string[])[];
  values: readonly ValueMask[];
  /** Index into the lists and values, per row. */
  rows: readonly number[];
}

function toMasks({ lists, rows }: PackedBatch["secrets"], redactor: Redactor): Masks {
  return { redactor, lists, values: lists.map((list) => createValueMask(list, () => masked)), rows };
}

/** Masks a text of a row. */
type Mask = (text: string) => Steps<string>;

function maskOf({ redactor, values, rows }: Masks, row: number): Mask {
  const own = values[rows[row] ?? 0];
  return (text) => redactor.textSteps(own?.mayStandIn(text) ? own.mask(text) : text);
}

const runAll = <Value>(work: Steps<Value>): Value => runNow(work, Number.POSITIVE_INFINITY);

/**
 * The batch as it is stored: without the credentials of its requests, and without anything that has the form of one. Long
 * bodies are masked when they are read.
 */
export function sealBatch(packed: PackedBatch, redactor: Redactor): LogBatch {
  const bodies = someAreLong.test(packed.lengths) ? cutBodies(packed.bodies, readLengths(packed.lengths)) : [];
  if (!bodies.some((row) => row?.some(mayBeLate))) return runAll(sealInSteps(packed, redactor));
  const { heads, lengths: _, bodies: __, secrets, ...batch } = packed;
  const masks = toMasks(secrets, redactor);
  const rows = bodies.map((row, index) => row && sealOrWait(row, masks, index));
  return {
    ...batch,
    details: runAll(sealRows(batch.details, masks)),
    get content() {
      return runAll(sealInSteps(packed, redactor)).content;
    },
    late: { heads: runAll(sealRows(heads, masks)), rows },
  };
}

/** Bodies of so many bytes mostly repeat an earlier one in part. */
const longBody = 16 * 1024;
/** A length of five digits. */
const someAreLong = /\d{5}/;

const mayBeLate = (body: Uint8Array | null): boolean => body !== null && body.length >= longBody && body[0] === 0x7b; // {

/** The bodies of a row, of which long ones are not masked yet. */
function sealOrWait(bodies: readonly (Uint8Array | null)[], masks: Masks, row: number): LateContent["rows"][number] {
  const mask = maskOf(masks, row);
  const secrets = masks.lists[masks.rows[row] ?? 0] ?? [];
  // a credential with this sign might go beyond the end of a span
  const isCuttable = !secrets.some((secret) => secret.includes("}"));
  const rules = JSON.stringify(secrets);
  const seal = (bytes: Uint8Array) => storedText(runAll(sealBody(textOfBody(bytes), mask)));
  return bodies.map((bytes): string | LateBody | null => {
    const ends = bytes && isCuttable && mayBeLate(bytes) ? spanEnds(bytes) : undefined;
    return bytes && (ends ? { bytes, ends, rules, seal } : seal(bytes));
  });
}

/** As `sealBatch`, where requests are answered. */
export function* sealInSteps(
  { heads, lengths, bodies, secrets, ...batch }: PackedBatch,
  redactor: Redactor,
): Steps<LogBatch> {
  const masks = toMasks(secrets, redactor);
  const sealed = yield* sealBodies({ bodies, lengths }, masks);
  const details = yield* sealRows(batch.details, masks);
  const shownHeads = yield* sealRows(heads, masks);
  return { ...batch, details, content: `${sealed.lengths}\n${shownHeads}\n${sealed.text}` };
}

/** Fields with ids of the gateway: no caller can choose their values. */
const ownMembers = new Set(["id", "organisation_id", "workspace_id", "api_key_id", "method", "operation", "type"]);

/** A value with its strings masked; field names stay. */
export function maskStrings(value: unknown, mask: (text: string) => string): unknown {
  return mapStrings(value, mask, ownMembers);
}

/** A JSON array with one value for each row. */
function* sealRows(text: string, { redactor, values, rows }: Masks): Steps<string> {
  if (!values.some((one) => one.mayStandIn(text))) return yield* redactor.textSteps(text);
  // written by `packRecords`
  const parsed: unknown[] = JSON.parse(text);
  const shown = parsed.map((row, index) => {
    const own = values[rows[index] ?? 0];
    return own ? maskStrings(row, own.mask) : row;
  });
  return yield* redactor.textSteps(JSON.stringify(shown));
}

/** The row of a record as `sealBatch` stores it. */
export function sealDetails(record: LogRecord, redactor: Redactor): LogDetails {
  const { details, secrets = [] } = record;
  const masks = toMasks({ lists: [secrets], rows: [0] }, redactor);
  const rows = runAll(sealRows(JSON.stringify([details]), masks));
  // masks replace strings alone
  const [sealed = details] = JSON.parse(rows) as LogDetails[];
  return sealed;
}

/** Rows of so many bytes mostly hold something that has to be looked at more closely: each body is, and none is read twice. */
const longRow = 16 * 1024;

/** Bodies as one text, and their lengths in characters. */
function* sealBodies(
  { bodies, lengths }: Pick<PackedBatch, "bodies" | "lengths">,
  masks: Masks,
): Steps<{ text: string; lengths: string }> {
  const bodyLengths = readLengths(lengths);
  const { redactor, values, rows } = masks;
  const isFine = (text: string) =>
    !(text.includes("\0") || redactor.mayHoldSecret(text)) && !values.some((one) => one.mayStandIn(text));
  const isLong = bodies.length >= longRow * rows.length;
  if (!isLong) {
    const whole = decoder.decode(bodies);
    // in ASCII, the usual case, a body has as many characters as bytes
    if (whole.length === bodies.length && !holdsEvents(whole, bodyLengths) && isFine(whole)) {
      return { text: whole, lengths };
    }
  }
  const strings = cutBodies(bodies, bodyLengths).map((row) => row?.map((body) => body && textOfBody(body)) ?? null);
  if (!isLong && !strings.flat().some((text) => text !== null && isEventText(text))) {
    const text = strings.flat().join("");
    if (isFine(text)) return { text, lengths: toLengths(strings) };
  }
  const sealed: BodyText = [];
  for (const [index, row] of strings.entries()) {
    sealed.push(row && (yield* sealRow(row, maskOf(masks, index))));
  }
  return { text: sealed.flat().join(""), lengths: toLengths(sealed) };
}

/** The bodies of one row. */
function* sealRow(row: readonly (string | null)[], mask: Mask): Steps<(string | null)[]> {
  const sealed: (string | null)[] = [];
  for (const body of row) sealed.push(body && storedText(yield* sealBody(body, mask)));
  return sealed;
}

/** What is masked is looked for in each event first, then in what the events add up to. */
function* sealBody(body: string, mask: Mask): Steps<string> {
  yield body.length >> 3;
  const shown = yield* mask(body);
  return isEventText(shown) ? yield* maskAcrossPieces(shown, mask) : shown;
}

type BodyText = (readonly (string | null)[] | null)[];

/** The bytes of each body. */
function cutBodies(
  bodies: Uint8Array<ArrayBuffer>,
  lengths: readonly (BodyLengths | null)[],
): (readonly (Uint8Array<ArrayBuffer> | null)[] | null)[] {
  let position = 0;
  const cut = (length: number | null): Uint8Array<ArrayBuffer> | null => {
    if (length === null) return null;
    const start = position;
    position += length;
    return bodies.subarray(start, position);
  };
  return lengths.map((row) => row?.map(cut) ?? null);
}

function readLengths(lengths: string): (BodyLengths | null)[] {
  return JSON.parse(lengths); // written by `packRecords`
}

function toLengths(strings: BodyText): string {
  return JSON.stringify(strings.map((row) => row?.map((body) => body?.length ?? null) ?? null));
}

/** Text that the database stores completely: it would cut it at U+0000. */
function storedText(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\\u0000") : text;
}

/** How an event stream begins. */
const eventStart = /(?:event|data|:)/y;

/** Whether an event stream begins at a position of a text. */
function isEventText(text: string, position = 0): boolean {
  eventStart.lastIndex = position;
  return eventStart.test(text);
}

/** Whether one of the bodies that a text consists of is an event stream. */
function holdsEvents(bodies: string, lengths: readonly (BodyLengths | null)[]): boolean {
  let position = 0;
  for (const length of lengths.flat()) {
    if (length === null) continue;
    if (isEventText(bodies, position)) return true;
    position += length;
  }
  return false;
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
function* maskAcrossPieces(text: string, mask: Mask): Steps<string> {
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
