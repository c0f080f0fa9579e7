import type { ModelFacts } from "../../schemas/model-facts.ts";
import type { ModelCards } from "../core/model-facts.ts";

const flash2: ModelFacts = {
  inputs: ["text", "image", "video", "audio"],
  outputs: ["text"],
  takesTools: true,
  reasons: false,
  contextWindow: 1_048_576,
  maxOutputTokens: 8_192,
};
const gemini: ModelFacts = {
  ...flash2,
  inputs: ["text", "image", "video", "audio", "file"],
  reasons: true,
  responseSchemas: "native",
  maxOutputTokens: 65_536,
};

/**
 * Google's models by name (https://ai.google.dev/gemini-api/docs/models), and the days of their shutdown at the Gemini API
 * (https://ai.google.dev/gemini-api/docs/deprecations).
 */
export const geminiCards: ModelCards = [
  { match: ["*gemini-*-image*"], facts: { inputs: ["text", "image"], outputs: ["text", "image"] } },
  { match: ["*gemini-*-tts*"], facts: { inputs: ["text"], outputs: ["audio"] } },
  { match: ["*gemini-*-live*", "*gemini-*-audio*", "*gemini-*-computer-use*"], facts: {} },
  // https://developers.googleblog.com/en/gemini-embedding-available-gemini-api/
  {
    match: ["*gemini-embedding-001"],
    facts: { inputs: ["text"], outputs: ["embeddings"], maxInputTokens: 2_048 },
  },
  { match: ["*gemini-embedding-*", "*embedding-001"], facts: { outputs: ["embeddings"] } },
  { match: ["*imagen-*"], facts: { inputs: ["text"], outputs: ["image"] } },
  { match: ["*veo-*"], facts: { inputs: ["text", "image"], outputs: ["video"] } },
  { match: ["*gemini-1.5-flash*"], facts: flash2 },
  { match: ["*gemini-2.0-flash*"], facts: { ...flash2, retiredOn: "2026-06-01" } },
  { match: ["*gemini-2.5-pro", "*gemini-2.5-flash"], facts: { ...gemini, retiredOn: "2026-12-01" } },
  { match: ["*gemini-3-pro-preview"], facts: { ...gemini, retiredOn: "2026-03-09" } },
  { match: ["*gemini-3.1-flash-lite"], facts: { ...gemini, retiredOn: "2027-05-07" } },
  {
    match: [
      "*gemini-2.5-pro*",
      "*gemini-2.5-flash*",
      "*gemini-3-pro*",
      "*gemini-3-flash*",
      "*gemini-3.*-pro*",
      "*gemini-3.*-flash*",
      "*gemini-pro-latest",
      "*gemini-flash-latest",
      "*gemini-flash-lite-latest",
    ],
    facts: gemini,
  },
];
