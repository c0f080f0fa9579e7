import type { EmbeddingRequest } from "../../schemas/embeddings.ts";
import { readInputs } from "./media-inputs.ts";
import { refuseMember } from "./messages.ts";

/**
 * Texts to embed, as a list.
 *
 * @throws {InvalidRequestError} If the input is lists of tokens, which belong to another provider's tokenizer, or holds media.
 */
export function requireTexts(provider: string, request: EmbeddingRequest): string[] {
  return readInputs(provider, request).map(({ text, image, video }) =>
    text === undefined || image || video ? refuseMember(provider, "input", "this model embeds texts") : text,
  );
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
