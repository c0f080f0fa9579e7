import type { ModelFacts } from "../../schemas/model-facts.ts";
import type { ModelCards } from "../core/model-facts.ts";

/** Models that take images read PDF documents too (https://platform.openai.com/docs/guides/pdf-files). */
const chat: ModelFacts = { inputs: ["text", "image", "file"], outputs: ["text"], takesTools: true, reasons: false };
const textChat: ModelFacts = { ...chat, inputs: ["text"] };
/** Models that take JSON schemas of responses (https://platform.openai.com/docs/guides/structured-outputs). */
const typed: ModelFacts = { ...chat, responseSchemas: "native" };
const reasoning: ModelFacts = { ...typed, reasons: true };
const o: ModelFacts = { ...reasoning, contextWindow: 200_000, maxOutputTokens: 100_000 };
const gpt4o: ModelFacts = { ...typed, contextWindow: 128_000, maxOutputTokens: 16_384 };
const gpt41: ModelFacts = { ...typed, contextWindow: 1_047_576, maxOutputTokens: 32_768 };
/** https://openai.com/index/gpt-4-research */
const gpt4: ModelFacts = { ...textChat, contextWindow: 8_192, retiredOn: "2026-10-23" };
const gpt4Turbo: ModelFacts = { ...chat, inputs: ["text", "image"], contextWindow: 128_000, maxOutputTokens: 4_096 };
/** Input has the window without the output (https://openai.com/index/introducing-gpt-5-for-developers). */
const gpt5: ModelFacts = {
  ...reasoning,
  contextWindow: 400_000,
  maxInputTokens: 272_000,
  maxOutputTokens: 128_000,
};
/** Models from gpt-5.4 on, apart from the smaller ones of gpt-5.4. */
const large: ModelFacts = { ...gpt5, contextWindow: 1_050_000, maxInputTokens: 922_000 };

/**
 * OpenAI's models by name (https://developers.openai.com/api/docs/models), and the days of their shutdown
 * (https://developers.openai.com/api/docs/deprecations).
 */
export const openaiCards: ModelCards = [
  { match: ["*-transcribe*", "whisper-*"], facts: { inputs: ["audio"], outputs: ["text"] } },
  { match: ["*-tts*", "tts-*"], facts: { inputs: ["text"], outputs: ["audio"] } },
  { match: ["gpt-image-*", "chatgpt-image-*"], facts: { inputs: ["text", "image"], outputs: ["image"] } },
  { match: ["dall-e-*"], facts: { inputs: ["text"], outputs: ["image"] } },
  { match: ["sora-*"], facts: { inputs: ["text", "image"], outputs: ["video"] } },
  {
    match: ["text-embedding-*"],
    facts: { inputs: ["text"], outputs: ["embeddings"], maxInputTokens: 8_192 },
  },
  { match: ["gpt-*realtime*", "gpt-*-search-*", "gpt-*-live*"], facts: {} },
  {
    match: ["gpt-audio*", "gpt-4o*-audio-*"],
    facts: { inputs: ["text", "audio"], outputs: ["text", "audio"], takesTools: true, reasons: false },
  },
  {
    match: ["gpt-3.5-turbo-instruct*"],
    facts: { ...textChat, takesTools: false },
  },
  {
    match: ["gpt-3.5-turbo", "gpt-3.5-turbo-0125"],
    facts: { ...textChat, contextWindow: 16_385, maxOutputTokens: 4_096, retiredOn: "2026-10-23" },
  },
  { match: ["gpt-3.5*", "ft:gpt-3.5*"], facts: { ...textChat, contextWindow: 16_385, maxOutputTokens: 4_096 } },
  { match: ["gpt-4o-2024-05-13"], facts: { ...typed, contextWindow: 128_000, retiredOn: "2026-10-23" } },
  {
    match: ["gpt-4o", "gpt-4o-2024-*", "gpt-4o-mini", "gpt-4o-mini-2024-*"],
    facts: { ...gpt4o, retiredOn: "2027-01-14" },
  },
  {
    match: ["chatgpt-4o*"],
    facts: { ...gpt4Turbo, maxOutputTokens: 16_384, takesTools: false, retiredOn: "2026-02-17" },
  },
  { match: ["gpt-4o*", "ft:gpt-4o*"], facts: gpt4o },
  { match: ["gpt-4.1-nano", "gpt-4.1-nano-2025-*"], facts: { ...gpt41, retiredOn: "2026-10-23" } },
  {
    match: ["gpt-4.1", "gpt-4.1-2025-*", "gpt-4.1-mini", "gpt-4.1-mini-2025-*"],
    facts: { ...gpt41, retiredOn: "2027-01-14" },
  },
  { match: ["gpt-4.1*", "ft:gpt-4.1*"], facts: gpt41 },
  {
    match: ["gpt-4-turbo", "gpt-4-turbo-2024-*", "gpt-4-1106-preview"],
    facts: { ...gpt4Turbo, retiredOn: "2026-10-23" },
  },
  { match: ["gpt-4-turbo*", "gpt-4-0125-*", "gpt-4-*vision*"], facts: gpt4Turbo },
  { match: ["gpt-4", "gpt-4-0613"], facts: gpt4 },
  { match: ["o1-mini*", "o1-preview*", "*-deep-research*"], facts: {} },
  { match: ["o3-mini*"], facts: { ...o, inputs: ["text"], retiredOn: "2026-10-23" } },
  { match: ["o1", "o1-2024-*", "o1-pro*", "o4-mini", "o4-mini-2025-*"], facts: { ...o, retiredOn: "2026-10-23" } },
  { match: ["o3", "o3-2025-*", "o3-pro*"], facts: { ...o, retiredOn: "2026-12-11" } },
  { match: ["ft:o4-mini*"], facts: o },
  { match: ["gpt-5-chat*", "gpt-5.*-chat*"], facts: gpt4o },
  {
    match: ["gpt-5", "gpt-5-2025-*", "gpt-5-mini", "gpt-5-mini-2025-*", "gpt-5-nano", "gpt-5-nano-2025-*"],
    facts: { ...gpt5, retiredOn: "2026-12-11" },
  },
  {
    match: ["gpt-5-pro*"],
    facts: { ...reasoning, contextWindow: 400_000, retiredOn: "2026-12-11" },
  },
  { match: ["gpt-5.1", "gpt-5.1-2025-*"], facts: { ...gpt5, retiredOn: "2027-04-01" } },
  { match: ["gpt-5-*", "gpt-5.1*", "gpt-5.2*", "gpt-5.3*", "gpt-5.4-mini*", "gpt-5.4-nano*"], facts: gpt5 },
  { match: ["gpt-5.4*", "gpt-5.5*", "gpt-5.6*", "gpt-6*"], facts: large },
];
