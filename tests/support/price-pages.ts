/** Where the vendors publish the prices that tests state. */
export const pricePages = {
  openai: "https://platform.openai.com/docs/pricing",
  longPrompts: "https://platform.openai.com/docs/models/gpt-5.4",
  priority: "https://openai.com/api-priority-processing/",
  images: "https://platform.openai.com/docs/models/gpt-image-1",
  moderation: "https://platform.openai.com/docs/guides/moderation",
  azure: "https://azure.microsoft.com/pricing/details/cognitive-services/openai-service/",
  anthropic: "https://platform.claude.com/docs/en/about-claude/pricing",
  bedrock: "https://aws.amazon.com/bedrock/pricing/",
  gemini: "https://ai.google.dev/gemini-api/docs/pricing",
  vertex: "https://cloud.google.com/vertex-ai/generative-ai/pricing",
  ranking: "https://cloud.google.com/generative-ai-app-builder/pricing",
  cohere: "https://cohere.com/pricing",
  mistral: "https://mistral.ai/pricing",
  xai: "https://docs.x.ai/developers/pricing",
  deepgram: "https://deepgram.com/pricing",
} as const;
