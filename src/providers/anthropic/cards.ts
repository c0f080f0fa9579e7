import type { ModelFacts } from "../../schemas/model-facts.ts";
import type { ModelCards } from "../core/model-facts.ts";

/** All models from Claude 3 on take images and call functions. */
const chat: ModelFacts = { inputs: ["text", "image"], outputs: ["text"], takesTools: true, reasons: false };
/** Models that read PDF documents (https://platform.claude.com/docs/en/build-with-claude/pdf-support) and think. */
const thinking: ModelFacts = { ...chat, inputs: ["text", "image", "file"], reasons: true };
const text: ModelFacts = { inputs: ["text"], outputs: ["text"], takesTools: false, reasons: false };

/**
 * Claude models by name, at every host (https://platform.claude.com/docs/en/about-claude/models/overview), and the days of
 * their retirement at Anthropic's own (https://platform.claude.com/docs/en/about-claude/model-deprecations). Windows are
 * rows of the table.
 */
export const claudeCards: ModelCards = [
  // https://www.anthropic.com/news/claude-2-1
  { match: ["*claude-2.1*", "*claude-v2:1*"], facts: { ...text, contextWindow: 200_000 } },
  { match: ["*claude-instant*", "*claude-v1*", "*claude-v2*", "*claude-1*", "*claude-2*"], facts: text },
  { match: ["*claude-3-7-sonnet*", "*claude-3.7-sonnet*"], facts: { ...thinking, retiredOn: "2026-02-19" } },
  { match: ["*claude-3-5-sonnet*", "*claude-3.5-sonnet*"], facts: { ...chat, retiredOn: "2025-10-28" } },
  { match: ["*claude-3*"], facts: chat },
  { match: ["*claude-opus-4-1*", "*claude-opus-4.1*"], facts: { ...thinking, retiredOn: "2026-08-05" } },
  {
    match: ["*claude-sonnet-4-0*", "*claude-opus-4-0*", "*claude-sonnet-4-20*", "*claude-opus-4-20*"],
    facts: { ...thinking, retiredOn: "2026-06-15" },
  },
  {
    match: ["*claude-opus-4-8*", "*claude-opus-4.8*", "*claude-opus-5*", "*claude-sonnet-5*", "*claude-fable-5*"],
    facts: thinking,
  },
  { match: ["*claude-opus-4*", "*claude-sonnet-4*", "*claude-haiku-4*"], facts: thinking },
];
