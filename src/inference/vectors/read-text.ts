import type { GatewayFileRow } from "../../db/tables/files.ts";
import { Budget } from "../../lib/budget.ts";
import { joinBytes } from "../../lib/bytes.ts";
import { decodeUtf8 } from "../../lib/json.ts";
import { toPlainText } from "./html-text.ts";

/** Largest file that becomes part of a vector store, in bytes. */
const maxFileBytes: number = 16 * 2 ** 20;

/** A file that cannot become part of a vector store. */
export class UnreadableFile extends Error {
  override readonly name = "UnreadableFile";
  /** As OpenAI names it: a kind that is not read, or content that cannot be. */
  readonly code: "unsupported_file" | "invalid_file";

  constructor(code: UnreadableFile["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** Kinds of files by their endings that hold no plain text. */
const unread: readonly [endings: RegExp, name: string][] = [
  [/\.pdf$/i, "PDF files"],
  [/\.(?:docx?|odt|rtf|pages)$/i, "documents of word processors"],
  [/\.(?:xlsx?|ods|numbers|parquet)$/i, "spreadsheets"],
  [/\.(?:pptx?|odp|key)$/i, "presentations"],
  [/\.(?:png|jpe?g|gif|webp|bmp|tiff?|heic|ico)$/i, "images"],
  [/\.(?:mp3|wav|ogg|flac|m4a|mp4|mov|avi|webm|mkv)$/i, "audio and video"],
  [/\.(?:zip|gz|tar|tgz|7z|rar|bz2|xz|zst|jar|epub)$/i, "archives"],
];

/** The same by how their bytes begin, as Latin-1. */
const beginnings: readonly [start: string, name: string][] = [
  ["%PDF-", "PDF files"],
  ["PK\u0003\u0004", "archives and office documents"],
  ["\u0089PNG", "images"],
  ["\u00ff\u00d8\u00ff", "images"],
  ["GIF8", "images"],
  ["\u001f\u008b", "archives"],
  ["\u00d0\u00cf\u0011\u00e0", "office documents"],
];

const readable = "plain text, Markdown, JSON, CSV, HTML and source code in UTF-8";

function refuseKind(name: string): never {
  throw new UnreadableFile("unsupported_file", `Cannot read ${name}: a vector store takes ${readable}`);
}

/**
 * Refuses a file whose name or size says that it cannot be read.
 *
 * @throws {UnreadableFile}
 */
export function requireReadable({ filename, bytes }: Pick<GatewayFileRow, "filename" | "bytes">): void {
  const [, name] = unread.find(([endings]) => endings.test(filename)) ?? [];
  if (name !== undefined) refuseKind(name);
  if (bytes <= maxFileBytes) return;
  const megabytes = maxFileBytes / 2 ** 20;
  throw new UnreadableFile("invalid_file", `Cannot read a file of more than ${megabytes} MiB: divide it`);
}

function toText(bytes: Uint8Array): string {
  const head = String.fromCharCode(...bytes.subarray(0, 8));
  const [, name] = beginnings.find(([start]) => head.startsWith(start)) ?? [];
  if (name !== undefined) refuseKind(name);
  if (bytes.includes(0)) throw new UnreadableFile("invalid_file", "Cannot read the file: it is not text in UTF-8");
  try {
    return decodeUtf8(bytes);
  } catch {
    throw new UnreadableFile("invalid_file", "Cannot read the file: it is not text in UTF-8");
  }
}

/** The budget of a file: reading and dividing it takes a few passes over its characters. */
export function createFileBudget(): Budget {
  return new Budget({ source: "caller", what: "the file", bytes: maxFileBytes, steps: 16 * maxFileBytes });
}

/**
 * The text of a file.
 *
 * @param content Its bytes, decrypted.
 * @throws {UnreadableFile} If it is no text.
 */
export async function readText(
  file: Pick<GatewayFileRow, "filename" | "bytes">,
  content: AsyncIterable<Uint8Array>,
  budget: Budget,
): Promise<string> {
  requireReadable(file);
  const pieces: Uint8Array[] = [];
  for await (const piece of content) {
    budget.bytes(piece.length);
    pieces.push(piece);
    budget.step(piece.length / 8);
    await budget.pause();
  }
  const text = toText(joinBytes(pieces));
  const isPage =
    /\.x?html?$/i.test(file.filename) || /^\s{0,100}<(?:!doctype html|html[\s>])/i.test(text.slice(0, 200));
  return isPage ? budget.run(toPlainText(text, budget)) : text;
}
