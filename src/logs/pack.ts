import { isObject } from "../lib/json.ts";
import { type HeldBody, toBytes } from "./body.ts";
import { cutsOf, type DraftRecord, type LogRecord } from "./record.ts";

/**
 * Records on their way to another thread: one text and one piece of memory, since every object that is handed over is
 * copied member by member.
 */
export interface PackedRecords {
  /** Two lines of JSON for each record: its details, and what belongs to its content less the bodies. */
  lines: string;
  /** The bodies one after the other. */
  bodies: Uint8Array<ArrayBuffer>;
}

/** What the second line of a record holds. Lengths are those of the bodies in bytes, null where there is none. */
type ContentLine = [id: string, organisationId: string, workspaceId: string | null, content: ContentParts | null];
type ContentParts = [
  sensitiveHeaders: readonly string[] | null,
  requestHeaders: object,
  responseHeaders: object,
  sent: Length,
  answered: Length,
  truncated: [boolean, boolean],
];
type Length = number | null;

/** Puts records together for another thread. */
export function packRecords(records: readonly LogRecord[]): PackedRecords {
  const bodies: ReturnType<typeof toBytes>[] = [];
  let length = 0;
  const hold = (body: HeldBody | null): number | null => {
    if (body === null) return null;
    const bytes = toBytes(body);
    bodies.push(bytes);
    length += bytes.length;
    return bytes.length;
  };
  const lines: string[] = [];
  for (const { details, content } of records) {
    const { id, organisation_id, workspace_id } = details;
    const line: ContentLine = [id, organisation_id, workspace_id, null];
    if (content) {
      const { sensitiveHeaders, requestHeaders, responseHeaders, requestBody, responseBody } = content;
      const lengths = [hold(requestBody), hold(responseBody)] as const;
      line[3] = [sensitiveHeaders, requestHeaders, responseHeaders, ...lengths, cutsOf(content)];
    }
    // JSON holds no line end of its own
    lines.push(JSON.stringify(details), JSON.stringify(line));
  }
  return { lines: lines.join("\n"), bodies: join(bodies, length) };
}

function join(bodies: readonly ReturnType<typeof toBytes>[], length: number): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(length);
  let position = 0;
  for (const bytes of bodies) {
    if (bytes instanceof Uint8Array) joined.set(bytes, position);
    else bytes.copyTo(joined, position);
    position += bytes.length;
  }
  return joined;
}

/** The records that were packed, their bodies as texts. */
export function unpackRecords({ lines, bodies }: PackedRecords): DraftRecord[] {
  const drafts: DraftRecord[] = [];
  const take = createReader(bodies);
  const texts = lines.split("\n");
  for (let index = 0; index + 1 < texts.length; index += 2) {
    // written by `packRecords`
    const [id, organisationId, workspaceId, content] = JSON.parse(texts[index + 1] ?? "") as ContentLine;
    const draft: DraftRecord = { id, organisationId, workspaceId, details: texts[index] ?? "", content: null };
    if (content) {
      const [sensitiveHeaders, request, response, sent, answered, truncated] = content;
      draft.content = {
        ...{ sensitiveHeaders, requestHeaders: textsOf(request), responseHeaders: textsOf(response) },
        ...{ requestBody: take(sent), responseBody: take(answered), truncated },
      };
    }
    drafts.push(draft);
  }
  return drafts;
}

const decoder = new TextDecoder();

/** Reads one text after the other. */
function createReader(bodies: Uint8Array): (length: number | null) => string | null {
  // in plain ASCII, which is usual, places in the text are those in the bytes: it is decoded once
  const whole = decoder.decode(bodies);
  const isPlain = whole.length === bodies.length;
  let position = 0;
  return (length) => {
    if (length === null) return null;
    const start = position;
    position += length;
    return isPlain ? whole.slice(start, position) : decoder.decode(bodies.subarray(start, position));
  };
}

function textsOf(value: unknown): Record<string, string> {
  // headers hold texts alone, and `packRecords` wrote them
  return isObject(value) ? (value as Record<string, string>) : {};
}
