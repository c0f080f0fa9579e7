import { anthropic } from "./anthropic.ts";
import { azureChat, azureResponses, foundryClaude } from "./azure.ts";
import { bedrockConverse, bedrockInvoke } from "./bedrock.ts";
import { cohere } from "./cohere.ts";
import { dashscope } from "./dashscope.ts";
import { deepseek } from "./deepseek.ts";
import type { EmulatedProvider } from "./emulator.ts";
import { gemini, vertexGemini } from "./gemini.ts";
import { groq, groqResponses } from "./groq.ts";
import { mistral } from "./mistral.ts";
import { moonshot } from "./moonshot.ts";
import { ollama, ollamaHost } from "./ollama.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiResponses } from "./openai-responses.ts";
import { openrouter, openrouterResponses } from "./openrouter.ts";
import { vertexClaude } from "./vertex-claude.ts";
import { vllm, vllmHost, vllmResponses } from "./vllm.ts";
import { xai, xaiResponses } from "./xai.ts";
import { zAi } from "./z-ai.ts";

/** The emulated providers. */
export const providers: readonly EmulatedProvider[] = [
  {
    slug: "openai",
    models: ["gpt-4.1", "gpt-5.1", "gpt-5.4", "gpt-5.6"],
    takesImages: true,
    emulators: [openaiChat, openaiResponses],
  },
  {
    slug: "anthropic",
    models: ["claude-opus-4-8", "claude-sonnet-4-6", "claude-opus-4-5", "claude-haiku-4-5"],
    takesImages: true,
    emulators: [anthropic],
  },
  {
    slug: "mistral-ai",
    models: ["mistral-small-2603", "mistral-large-2411", "magistral-medium-2509", "mistral-medium-2508"],
    takesImages: true,
    emulators: [mistral],
  },
  {
    slug: "cohere",
    models: ["command-a-reasoning-08-2025", "command-a-03-2025"],
    takesImages: false,
    emulators: [cohere],
  },
  {
    slug: "x-ai",
    models: [
      "grok-4.7",
      "grok-4.5",
      "grok-4.3",
      "grok-4-1-fast-reasoning",
      "grok-code-fast-1",
      "grok-3-mini",
      "grok-3",
    ],
    takesImages: true,
    emulators: [xai, xaiResponses],
  },
  {
    slug: "groq",
    models: ["openai/gpt-oss-120b", "qwen/qwen3.8-27b", "llama-3.3-70b-versatile", "moonshotai/kimi-k2-instruct"],
    takesImages: false,
    emulators: [groq, groqResponses],
  },
  { slug: "deepseek", models: ["deepseek-v4-pro", "deepseek-chat"], takesImages: false, emulators: [deepseek] },
  {
    slug: "openrouter",
    models: [
      "google/gemini-3.1-pro-preview",
      "anthropic/claude-sonnet-4.6",
      "openai/gpt-5.4",
      "deepseek/deepseek-v4-pro",
    ],
    takesImages: true,
    emulators: [openrouter, openrouterResponses],
  },
  {
    slug: "moonshot",
    models: ["kimi-k3", "kimi-k2.6", "kimi-k2.7-code", "moonshot-v1-128k-vision-preview"],
    takesImages: true,
    emulators: [moonshot],
  },
  { slug: "z-ai", models: ["glm-5.3", "glm-5.2", "glm-4.6"], takesImages: false, emulators: [zAi] },
  {
    slug: "dashscope",
    models: ["qwen-plus", "qwen3-235b-a22b", "qwen3.5-plus"],
    takesImages: false,
    emulators: [dashscope],
  },
  {
    slug: "ollama",
    headers: { "x-gateway-custom-host": `https://${ollamaHost}` },
    models: ["gpt-oss:20b", "qwen3:8b", "llama3.2"],
    takesImages: false,
    emulators: [ollama],
  },
  {
    slug: "openai",
    host: "vllm",
    headers: { "x-gateway-custom-host": `https://${vllmHost}/v1` },
    models: ["mistralai/Mistral-Small-3.2-24B-Instruct-2506", "Qwen/Qwen3-32B"],
    takesImages: false,
    emulators: [vllm, vllmResponses],
  },
  {
    slug: "google",
    models: [
      "gemini-2.5-pro",
      "gemini-2.5-flash",
      "gemini-2.5-flash-lite",
      "gemini-3-flash-preview",
      "gemini-3.1-pro-preview",
      "gemini-3.8-flash",
      "gemini-4-neon",
      "gemini-pro-latest",
      "gemini-flash-latest",
    ],
    takesImages: true,
    emulators: [gemini],
  },
  {
    slug: "vertex-ai",
    models: [
      "gemini-2.5-pro",
      "gemini-2.5-flash",
      "gemini-3.1-pro-preview",
      "google.gemini-3.8-flash",
      "gemini-4-neon",
      "claude-opus-4-8",
      "anthropic.claude-sonnet-4-6",
      "claude-haiku-4-5@20251001",
    ],
    headers: { "x-gateway-vertex-project-id": "fake-project", "x-gateway-vertex-region": "us-east5" },
    takesImages: true,
    emulators: [vertexGemini, vertexClaude],
  },
  {
    slug: "bedrock",
    models: [
      "us.anthropic.claude-opus-4-8",
      "amazon.nova-pro-v1:0",
      "anthropic.claude-sonnet-4-6",
      "global.amazon.nova-2-lite-v1:0",
      "anthropic.claude-haiku-4-5-20251001-v1:0",
    ],
    takesImages: true,
    headers: { "x-gateway-aws-region": "us-east-1" },
    emulators: [bedrockConverse, bedrockInvoke],
  },
  {
    slug: "azure-openai",
    models: ["gpt-4.1", "gpt-5.1", "gpt-5.4", "gpt-5.6"],
    takesImages: true,
    headers: { "x-gateway-azure-resource-name": "emulated", "x-gateway-azure-api-version": "v1" },
    emulators: [azureChat, azureResponses],
  },
  {
    slug: "azure-ai",
    models: ["claude-opus-4-8", "claude-sonnet-4-6", "claude-haiku-4-5"],
    takesImages: true,
    headers: { "x-gateway-azure-foundry-url": "https://emulated.services.ai.azure.com/anthropic" },
    emulators: [foundryClaude],
  },
];
