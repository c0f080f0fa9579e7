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

/**
 * Lets texts pass, and the objects some providers take in their place.
 *
 * @throws {InvalidRequestError} If the input is lists of tokens.
 */
export function requireTextOrObjects(provider: string, { input }: EmbeddingRequest): void {
  const list: readonly unknown[] = Array.isArray(input) ? input : [input];
  const isTokens = (item: unknown) => typeof item === "number" || Array.isArray(item);
  if (list.some(isTokens)) refuseMember(provider, "input", "it embeds texts, not lists of tokens");
}
