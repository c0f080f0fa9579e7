/** What a thought needs to be given back to the provider that had it. */
interface ReasoningProof {
  id: string;
  encrypted: string;
}

const form = /^rs:([^:]*):(.+)$/s;

/** The signature of a thought that came as an item of the Responses API. */
export function toSignature({ id, encrypted }: ReasoningProof): string {
  return `rs:${id}:${encrypted}`;
}

/** What `toSignature` wrote; undefined for signatures of other providers. */
export function readSignature(signature: unknown): ReasoningProof | undefined {
  const [, id, encrypted] = form.exec(typeof signature === "string" ? signature : "") ?? [];
  return id === undefined || encrypted === undefined ? undefined : { id, encrypted };
}
