import { fromBase64Url, toBase64 } from "./base64.ts";

/**
 * Carries another model family's reasoning in a Gemini-format response: clients send a `thoughtSignature` back unread, and
 * its content identifies the family. It is base64, since some clients decode it.
 */
interface MarkedSignature {
  /** What is signed: reasoning, redacted reasoning, or a tool call. */
  kind: "signature" | "redacted" | "call";
  /** The signature; empty for calls without one. */
  text: string;
  /** The id of the call. Clients may leave ids out, and send signatures back. */
  id?: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const mark = "gateway:";
/** Base64 of the mark's bytes that fill whole groups. */
const markPrefix = "Z2F0ZXdh";
const form = /^gateway:(signature|redacted|call)(?:#([^:]*))?:(.*)$/s;

/** Encodes a signature of another family. */
export function markSignature({ kind, text, id }: MarkedSignature): string {
  const named = id === undefined ? kind : `${kind}#${id.replaceAll("%", "%25").replaceAll(":", "%3A")}`;
  return toBase64(encoder.encode(`${mark}${named}:${text}`));
}

/** Whether `markSignature` produced a signature, without decoding it. */
export function isMarked(signature: unknown): signature is string {
  return typeof signature === "string" && signature.startsWith(markPrefix);
}

/** Decodes the output of `markSignature`; undefined for Gemini's own signatures. Accepts both base64 alphabets. */
export function readMarkedSignature(signature: unknown): MarkedSignature | undefined {
  if (!isMarked(signature)) return undefined;
  try {
    const [, kind, id, rest = ""] = form.exec(decoder.decode(fromBase64Url(signature))) ?? [];
    if (kind === undefined) return undefined;
    // the pattern has the kinds above
    return {
      kind: kind as MarkedSignature["kind"],
      text: rest,
      ...(id !== undefined && { id: id.replaceAll("%3A", ":").replaceAll("%25", "%") }),
    };
  } catch {
    return undefined;
  }
}
