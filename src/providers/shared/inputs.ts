import type { EmbeddingRequest } from "../../schemas/embeddings.ts";
import { readInputs } from "./media-inputs.ts";
import { refuseMember } from "./messages.ts";

/**
 * Strings to embed, as a list.
 *
 * @throws {InvalidRequestError} If the input contains media or token lists, which depend on another provider's
 * tokenizer.
 */
export function requireStrings(provider: string, request: EmbeddingRequest): string[] {
  return readInputs(provider, request).map(({ text, image, video }) =>
    text === undefined || image || video ? refuseMember(provider, "input", "this model embeds text") : text,
  );
}

/**
 * Accepts strings, and the input objects some providers support.
 *
 * @throws {InvalidRequestError} If the input is token lists.
 */
export function requireStringsOrObjects(provider: string, { input }: EmbeddingRequest): void {
  const list: readonly unknown[] = Array.isArray(input) ? input : [input];
  const isTokens = (item: unknown) => typeof item === "number" || Array.isArray(item);
  if (list.some(isTokens)) refuseMember(provider, "input", "it embeds text, not lists of tokens");
}
