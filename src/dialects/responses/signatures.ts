/** What a reasoning item carries for the model behind it: clients send it back unread. */
interface Carried {
  /** `thought`: signs the summary. `redacted`: is the reasoning itself. `call`: belongs to the call after the item. */
  kind: "thought" | "redacted" | "call";
  text: string;
}

const form = /^gw:(thought|redacted|call):(.*)$/s;

/** `encrypted_content` of a reasoning item. */
export function toEncryptedContent({ kind, text }: Carried): string {
  return `gw:${kind}:${text}`;
}

/** Decodes the output of `toEncryptedContent`; undefined for a provider's content. */
export function readEncryptedContent(content: unknown): Carried | undefined {
  const [, kind, text] = form.exec(typeof content === "string" ? content : "") ?? [];
  if (text === undefined || (kind !== "thought" && kind !== "redacted" && kind !== "call")) return undefined;
  return { kind, text };
}
