// Names: https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/, current and former ones

/** Slugs of providers that the conventions of OpenTelemetry name otherwise. */
const slugs: Readonly<Record<string, string>> = {
  "aws.bedrock": "bedrock",
  aws_bedrock: "bedrock",
  "azure.ai.openai": "azure-openai",
  "az.ai.openai": "azure-openai",
  "azure.ai.inference": "azure-ai",
  "az.ai.inference": "azure-ai",
  "gcp.gemini": "google",
  "gcp.gen_ai": "google",
  gemini: "google",
  "gcp.vertex_ai": "vertex-ai",
  vertex_ai: "vertex-ai",
  mistral_ai: "mistral-ai",
  x_ai: "x-ai",
  perplexity: "perplexity-ai",
};

/** The slug of a provider by its name in the conventions; other names stay as they are. */
export function slugOfSystem(name: string): string {
  return Object.hasOwn(slugs, name) ? (slugs[name] ?? name) : name;
}
