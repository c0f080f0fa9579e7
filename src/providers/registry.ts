import { ai21 } from "./ai21/mod.ts";
import { bytez } from "./bytez/mod.ts";
import { cohere } from "./cohere/mod.ts";
import { echo } from "./echo/mod.ts";
import { huggingface } from "./huggingface/mod.ts";
import { jina } from "./jina/mod.ts";
import { mistral } from "./mistral-ai/mod.ts";
import { nomic } from "./nomic/mod.ts";
import { ollama } from "./ollama/mod.ts";
import { openai } from "./openai/mod.ts";
import { palm } from "./palm/mod.ts";
import { predibase } from "./predibase/mod.ts";
import { proxiedProviders } from "./proxied/mod.ts";
import { reka } from "./reka-ai/mod.ts";
import { triton } from "./triton/mod.ts";
import type { Provider } from "./types.ts";
import { voyage } from "./voyage/mod.ts";
import { workersAi } from "./workers-ai/mod.ts";

/** Providers that come with the gateway. */
export const builtInProviders: readonly Provider[] = [
  openai,
  echo,
  ai21,
  bytez,
  cohere,
  huggingface,
  jina,
  mistral,
  nomic,
  ollama,
  palm,
  predibase,
  reka,
  triton,
  voyage,
  workersAi,
  ...proxiedProviders,
];

/** Finds providers by slug. */
export type ProviderRegistry = ReadonlyMap<string, Provider>;

/** A registry of the built-in providers and those an embedder adds; a slug given twice is the embedder's. */
export function createProviderRegistry(added: readonly Provider[] = []): ProviderRegistry {
  return new Map([...builtInProviders, ...added].map((provider) => [provider.slug, provider]));
}
