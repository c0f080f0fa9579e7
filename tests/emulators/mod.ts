import { anthropic } from "./anthropic.ts";
import { deepseek } from "./deepseek.ts";
import type { EmulatedProvider } from "./emulator.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiResponses } from "./openai-responses.ts";

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
  { slug: "deepseek", models: ["deepseek-v4-pro", "deepseek-chat"], takesImages: false, emulators: [deepseek] },
];
