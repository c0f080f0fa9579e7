import type { Reply } from "./reply.ts";

/** Whether a client takes gzip, by its `accept-encoding` (RFC 9110, section 12.5.3). */
export function takesGzip(accepted: string | undefined): boolean {
  return (accepted ?? "").split(",").some((coding) => /^\s*gzip\s*(?:$|;(?!\s*q=0(?:\.0*)?\s*$))/i.test(coding));
}

/** Compresses bytes that are in memory. */
export async function gzip(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Smallest body that is compressed, in characters: below, the headers weigh more than what is saved. */
const smallestCompressed = 1_024;

/** A response in gzip where its client takes it. What is small, and what is sent while it is made, stays as it is. */
export async function compressed(reply: Reply, asked: { get(name: string): string | undefined }): Promise<Reply> {
  const { body, headers } = reply;
  if (typeof body !== "string" || body.length < smallestCompressed) return reply;
  const varied = { ...headers, vary: "accept-encoding" };
  if (!takesGzip(asked.get("accept-encoding"))) return { ...reply, headers: varied };
  const packed = await gzip(new TextEncoder().encode(body));
  return { ...reply, headers: { ...varied, "content-encoding": "gzip" }, body: packed };
}
