/**
 * Names of providers in spans (https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/), where they
 * differ from their slugs.
 */
export const traceNames: Readonly<Record<string, string>> = {
  "azure-openai": "azure.ai.openai",
  "azure-ai": "azure.ai.inference",
  bedrock: "aws.bedrock",
  "bedrock-mantle": "aws.bedrock",
  google: "gcp.gemini",
  "vertex-ai": "gcp.vertex_ai",
  "mistral-ai": "mistral_ai",
  "perplexity-ai": "perplexity",
  "x-ai": "x_ai",
};
