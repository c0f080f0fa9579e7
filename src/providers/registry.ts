import { echo } from "./echo/mod.ts";
import { google } from "./google/mod.ts";
import { openai } from "./openai/mod.ts";
import type { Provider } from "./types.ts";
import { vertexAi } from "./vertex-ai/mod.ts";

/** Providers that come with the gateway. */
export const builtInProviders: readonly Provider[] = [openai, google, vertexAi, echo];

/** Finds providers by slug. */
export type ProviderRegistry = ReadonlyMap<string, Provider>;

/** A registry of the built-in providers and those an embedder adds; a slug given twice is the embedder's. */
export function createProviderRegistry(added: readonly Provider[] = []): ProviderRegistry {
  return new Map([...builtInProviders, ...added].map((provider) => [provider.slug, provider]));
}
