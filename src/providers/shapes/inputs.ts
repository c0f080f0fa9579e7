import type { EmbeddingRequest } from "../../schemas/embeddings.ts";
import { refuseMember } from "./messages.ts";

/**
 * Texts to embed, as a list.
 *
 * @throws {InvalidRequestError} If the input is lists of tokens: they belong to another provider's tokenizer.
 */
export function requireTexts(provider: string, { input }: EmbeddingRequest): string[] {
  const list: readonly unknown[] = Array.isArray(input) ? input : [input];
  const texts = list.filter((item) => typeof item === "string");
  if (texts.length !== list.length) refuseMember(provider, "input", "it embeds texts, not lists of tokens");
  return texts;
}
