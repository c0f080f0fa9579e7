/** What a provider needs to verify reasoning that it is sent back. */
interface ReasoningProof {
  id: string;
  encrypted: string;
}

const form = /^rs:([^:]*):(.+)$/s;

/** The signature of reasoning that arrived as an item of the Responses API. */
export function toSignature({ id, encrypted }: ReasoningProof): string {
  return `rs:${id}:${encrypted}`;
}

/** Decodes the output of `toSignature`; undefined for signatures of other providers. */
export function readSignature(signature: unknown): ReasoningProof | undefined {
  const [, id, encrypted] = form.exec(typeof signature === "string" ? signature : "") ?? [];
  return id === undefined || encrypted === undefined ? undefined : { id, encrypted };
}
