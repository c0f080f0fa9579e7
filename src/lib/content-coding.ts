import { gzip } from "./gzip.ts";
import type { Reply } from "./reply.ts";

/** A way to compress responses (RFC 9110, section 8.4.1). */
export interface ContentCoding {
  readonly name: string;
  compress(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>>;
}

/** The coding that every runtime has. */
export const gzipCoding: ContentCoding = { name: "gzip", compress: gzip };

/** How much a client wants each coding, from 0 to 1 (RFC 9110, section 12.5.3). */
function readQualities(accepted: string): ReadonlyMap<string, number> {
  const entries = accepted.split(",").map((entry): [string, number] => {
    const [name = "", ...parameters] = entry.split(";").map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith("q="));
    return [name, quality === undefined ? 1 : Number(quality.slice(2)) || 0];
  });
  return new Map(entries);
}

/**
 * The coding that a client wants most; of those it wants equally, the first. Undefined: it takes none of them, or rather has
 * the plain bytes.
 */
export function chooseCoding<Coding extends { readonly name: string }>(
  accepted: string | undefined,
  codings: readonly Coding[],
): Coding | undefined {
  if (accepted === undefined) return undefined;
  const qualities = readQualities(accepted);
  let best: Coding | undefined;
  let quality = Math.max(qualities.get("identity") ?? 0, Number.MIN_VALUE);
  for (const coding of codings) {
    const wanted = qualities.get(coding.name) ?? 0;
    if (best === undefined ? wanted < quality : wanted <= quality) continue;
    best = coding;
    quality = wanted;
  }
  return best;
}

/** Smallest body that is compressed, in characters: below, the headers weigh more than what is saved. */
const smallestCompressed = 1_024;

/** A response in a coding that its client takes. What is small, and what is sent while it is made, stays as it is. */
export async function compressed(
  reply: Reply,
  accepted: string | undefined,
  codings: readonly ContentCoding[],
): Promise<Reply> {
  const { body, headers } = reply;
  if (typeof body !== "string" || body.length < smallestCompressed) return reply;
  const vary = headers.vary === undefined ? "accept-encoding" : `${headers.vary}, accept-encoding`;
  const coding = chooseCoding(accepted, codings);
  if (coding === undefined) return { ...reply, headers: { ...headers, vary } };
  const packed = await coding.compress(new TextEncoder().encode(body));
  return { ...reply, headers: { ...headers, vary, "content-encoding": coding.name }, body: packed };
}
