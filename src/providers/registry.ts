import { azureAi } from "./azure-ai/mod.ts";
import { azureOpenai } from "./azure-openai/mod.ts";
import { cortex } from "./cortex/mod.ts";
import { databricks } from "./databricks/mod.ts";
import { echo } from "./echo/mod.ts";
import { github } from "./github/mod.ts";
import { openai } from "./openai/mod.ts";
import { oracle } from "./oracle/mod.ts";
import type { Provider } from "./types.ts";

/** Providers that come with the gateway. */
export const builtInProviders: readonly Provider[] = [
  openai,
  echo,
  azureOpenai,
  azureAi,
  github,
  cortex,
  databricks,
  oracle,
];

/** Finds providers by slug. */
export type ProviderRegistry = ReadonlyMap<string, Provider>;

/** A registry of the built-in providers and those an embedder adds; a slug given twice is the embedder's. */
export function createProviderRegistry(added: readonly Provider[] = []): ProviderRegistry {
  return new Map([...builtInProviders, ...added].map((provider) => [provider.slug, provider]));
}
