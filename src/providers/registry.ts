import { findNearest } from "../lib/nearest.ts";
import { ai21 } from "./ai21/mod.ts";
import { anthropic } from "./anthropic/mod.ts";
import { azureAi } from "./azure-ai/mod.ts";
import { azureOpenai } from "./azure-openai/mod.ts";
import { bedrock } from "./bedrock/mod.ts";
import { bedrockMantle } from "./bedrock-mantle/mod.ts";
import { brave } from "./brave/mod.ts";
import { byteplus } from "./byteplus/mod.ts";
import { bytez } from "./bytez/mod.ts";
import { claudePlatformAws } from "./claude-platform-aws/mod.ts";
import { cohere } from "./cohere/mod.ts";
import type { Provider } from "./core/types.ts";
import { cortex } from "./cortex/mod.ts";
import { databricks } from "./databricks/mod.ts";
import { echo } from "./echo/mod.ts";
import { exa } from "./exa/mod.ts";
import { fireworks } from "./fireworks-ai/mod.ts";
import { github } from "./github/mod.ts";
import { google } from "./google/mod.ts";
import { huggingface } from "./huggingface/mod.ts";
import { jina } from "./jina/mod.ts";
import { mistral } from "./mistral-ai/mod.ts";
import { modal } from "./modal/mod.ts";
import { nomic } from "./nomic/mod.ts";
import { ollama } from "./ollama/mod.ts";
import { openai } from "./openai/mod.ts";
import { hosts } from "./openai-compatible/vendors/hosts.ts";
import { smallProviders } from "./openai-compatible/vendors/small.ts";
import { vendors } from "./openai-compatible/vendors/vendors.ts";
import { openrouter } from "./openrouter/mod.ts";
import { oracle } from "./oracle/mod.ts";
import { pinecone } from "./pinecone/mod.ts";
import { predibase } from "./predibase/mod.ts";
import { proxiedProviders } from "./proxied/mod.ts";
import { recraft } from "./recraft-ai/mod.ts";
import { reka } from "./reka-ai/mod.ts";
import { sagemaker } from "./sagemaker/mod.ts";
import { searxng } from "./searxng/mod.ts";
import { segmind } from "./segmind/mod.ts";
import { stability } from "./stability-ai/mod.ts";
import { tavily } from "./tavily/mod.ts";
import { triton } from "./triton/mod.ts";
import { typesafe } from "./typesafe/mod.ts";
import { vertexAi } from "./vertex-ai/mod.ts";
import { voyage } from "./voyage/mod.ts";
import { workersAi } from "./workers-ai/mod.ts";

/** Built-in providers. */
export const builtInProviders: readonly Provider[] = [
  openai,
  ai21,
  anthropic,
  azureAi,
  azureOpenai,
  bedrock,
  bedrockMantle,
  brave,
  bytez,
  claudePlatformAws,
  cohere,
  cortex,
  databricks,
  exa,
  github,
  google,
  huggingface,
  jina,
  mistral,
  nomic,
  ollama,
  oracle,
  pinecone,
  predibase,
  recraft,
  reka,
  sagemaker,
  searxng,
  segmind,
  stability,
  tavily,
  triton,
  typesafe,
  vertexAi,
  voyage,
  workersAi,
  ...hosts,
  ...smallProviders,
  ...vendors,
  openrouter,
  byteplus,
  modal,
  fireworks,
  ...proxiedProviders,
  echo,
];

/** Finds providers by slug. */
export type ProviderRegistry = ReadonlyMap<string, Provider>;

/**
 * A registry of the built-in and additional providers. An additional provider replaces a built-in one with the same
 * slug.
 */
export function createProviderRegistry(added: readonly Provider[] = []): ProviderRegistry {
  return new Map([...builtInProviders, ...added].map((provider) => [provider.slug, provider]));
}

/** Why providers ended that configs may still name, and what takes their place. */
const ended: ReadonlyMap<string, string> = new Map([
  // https://ai.google.dev/palm_docs/deprecation
  ["palm", 'Google switched the PaLM API off on August 15, 2024; use "google" with a Gemini model'],
]);

/** The error message for an unknown slug, with similar slugs and a link to the list, or with the successor of the provider. */
export function describeUnknownProvider(slug: string, known: Iterable<string>): string {
  const why = ended.get(slug);
  if (why !== undefined) return `"${slug}" is no provider any more: ${why}`;
  const near = findNearest(slug, known);
  const hint = near.length === 0 ? "" : `; did you mean ${near.join(" or ")}?`;
  return `"${slug.slice(0, 64)}" is not a known provider${hint || ";"} docs/providers.md lists all providers`;
}
