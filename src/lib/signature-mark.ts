import { fromBase64Url, toBase64 } from "./base64.ts";

/**
 * What an answer in Gemini's shape carries of another family's thoughts: clients send a `thoughtSignature` back unread, and
 * what stands in it tells whose it is. It is base64, as some clients decode it.
 */
interface MarkedSignature {
  /** What is signed: a thought, a thought that is not told, or a call of a tool. */
  kind: "signature" | "redacted" | "call";
  /** The signature; empty for calls without one. */
  text: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const mark = "gateway:";
/** Base64 of the bytes of the mark that fill whole groups. */
const markPrefix = "Z2F0ZXdh";
const form = /^gateway:(signature|redacted|call):(.*)$/s;

/** Writes a signature of another family. */
export function markSignature({ kind, text }: MarkedSignature): string {
  return toBase64(encoder.encode(`${mark}${kind}:${text}`));
}

/** Whether a signature was written by `markSignature`, without reading it. */
export function isMarked(signature: unknown): signature is string {
  return typeof signature === "string" && signature.startsWith(markPrefix);
}

/** Reads what `markSignature` wrote; undefined for signatures of the family itself. Both alphabets of base64 are read. */
export function readMarkedSignature(signature: unknown): MarkedSignature | undefined {
  if (!isMarked(signature)) return undefined;
  try {
    const [, kind, rest] = form.exec(decoder.decode(fromBase64Url(signature))) ?? [];
    return kind === undefined ? undefined : { kind: kind as MarkedSignature["kind"], text: rest ?? "" }; // one of the form's
  } catch {
    return undefined;
  }
}
