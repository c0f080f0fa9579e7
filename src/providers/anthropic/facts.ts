import type { ModelFacts } from "../../schemas/model-facts.ts";
import type { FactTable } from "../core/model-facts.ts";
import { claudeCards } from "./cards.ts";

/** Levels that a host takes or the adapter has a form for: `none` asks for no thinking, `minimal` is sent as `low`. */
const allEfforts: ModelFacts["efforts"] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
/** Spellings of a version behind the name of a model; what follows it is a date or a suffix of the host. */
const version = (major: number, minor: number): string[] =>
  [`${major}-${minor}`, `${major}.${minor}`].flatMap((one) =>
    ["", "-*", "@*", ":*", "_*"].map((ending) => `*claude-*-${one}${ending}`),
  );

/** The window and output of most models before those that choose their own budget. */
const usual: ModelFacts = { contextWindow: 200_000, maxOutputTokens: 64_000 };
const budget: ModelFacts = { ...usual, thinking: "budget", sampling: "one", responseSchemas: "beta" };
/** Models that choose their own thinking budget. */
const adaptive: ModelFacts = {
  thinking: "adaptive",
  sampling: "none",
  takesPrefill: false,
  efforts: allEfforts,
  contextWindow: 1_000_000,
  maxOutputTokens: 128_000,
};
const older: ModelFacts = { ...usual, sampling: "any", responseSchemas: "beta" };

/** Models from Opus 4.8 on. */
const newest: ModelFacts = { ...adaptive, systemTurns: true, lateInstructions: "system" };

/** What Claude models take, at every host. */
export const claudeFacts: FactTable = {
  read: "2026-11-27",
  sources: [
    "https://platform.claude.com/docs/en/about-claude/models/overview",
    "https://platform.claude.com/docs/en/about-claude/models/migration-guide",
    "https://platform.claude.com/docs/en/about-claude/model-deprecations",
    "https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking",
    "https://platform.claude.com/docs/en/build-with-claude/effort",
    "https://platform.claude.com/docs/en/build-with-claude/structured-outputs",
    "https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages",
  ],
  common: {
    toolNameLength: 128,
    callIds: "plain",
    lateInstructions: "user",
    responseSchemas: "native",
  },
  cards: claudeCards,
  newest,
  rows: [
    {
      match: ["*claude-instant*", "*claude-v1*", "*claude-v2*", "*claude-1*", "*claude-2*"],
      facts: { ...older, thinking: "none", contextWindow: 100_000, maxOutputTokens: 4_096 },
    },
    { match: ["*claude-3-7-*", "*claude-3.7-*"], facts: { ...older, thinking: "budget" } },
    { match: ["*claude-3-5-*", "*claude-3.5-*"], facts: { ...older, thinking: "none", maxOutputTokens: 8_192 } },
    { match: ["*claude-3-*"], facts: { ...older, thinking: "none", maxOutputTokens: 4_096 } },
    {
      match: ["*claude-opus-4-8*", "*claude-opus-4.8*", "*claude-opus-5*", "*claude-sonnet-5*", "*claude-fable-5*"],
      facts: newest,
    },
    { match: version(4, 7), facts: adaptive },
    {
      match: version(4, 6),
      facts: {
        thinking: "either",
        sampling: "one",
        takesPrefill: false,
        efforts: ["none", "minimal", "low", "medium", "high", "max"],
        contextWindow: 1_000_000,
        maxOutputTokens: 128_000,
      },
    },
    {
      match: version(4, 5),
      facts: { ...usual, thinking: "budget", sampling: "one" },
    },
    { match: version(4, 1), facts: { ...budget, maxOutputTokens: 32_000 } },
    // a date follows the name of the first models of a generation
    {
      match: [...version(4, 0), "*claude-*-4-20*", "*claude-*-4@20*", "*claude-*-4"],
      facts: { ...budget, sampling: "any" },
    },
  ],
};
