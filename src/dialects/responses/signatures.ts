/** What an item of reasoning carries for the model that thought: clients send it back unread. */
interface Carried {
  /** `thought`: proves the summary. `redacted`: is the thought itself. `call`: belongs to the call behind the item. */
  kind: "thought" | "redacted" | "call";
  text: string;
}

const form = /^gw:(thought|redacted|call):(.*)$/s;

/** `encrypted_content` of an item of reasoning. */
export function toEncryptedContent({ kind, text }: Carried): string {
  return `gw:${kind}:${text}`;
}

/** What `toEncryptedContent` wrote; undefined for what a provider wrote. */
export function readEncryptedContent(content: unknown): Carried | undefined {
  const [, kind, text] = form.exec(typeof content === "string" ? content : "") ?? [];
  if (text === undefined || (kind !== "thought" && kind !== "redacted" && kind !== "call")) return undefined;
  return { kind, text };
}
