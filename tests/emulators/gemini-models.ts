import { isObject } from "../../src/lib/json.ts";
import type { EmulatedRequest, Members, Rule } from "./emulator.ts";

/** Pages of the documentation, as read in November 2026. */
const sources = {
  thinking: "https://ai.google.dev/gemini-api/docs/thinking",
  levels: "https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/thinking",
  both: "https://github.com/sterlp/eclipse-peon-ai/issues/115 (message of the API, August 2026)",
  migration:
    "https://dev.to/aihubmix/gemini-4-neon-migration-default-high-thinking-400-errors-and-the-65k-cap-45gj (Google's list of 400s, November 2026)",
} as const;

const thinkingOf = ({ body }: EmulatedRequest): Members => {
  const config = isObject(body.generationConfig) ? body.generationConfig : {};
  return isObject(config.thinkingConfig) ? config.thinkingConfig : {};
};

/** Least and greatest budget, and whether 0 turns thinking off; -1 leaves the budget to the model. */
const budgets: readonly [models: RegExp, least: number, most: number, stops: boolean][] = [
  [/gemini-2\.5-flash-lite/, 512, 24_576, true],
  [/gemini-2\.5-flash/, 0, 24_576, true],
  [/gemini-2\.5-pro/, 128, 32_768, false],
];

/** Thinking levels by model. */
const levels: readonly [models: RegExp, levels: readonly string[]][] = [
  [/gemini-3(?:\.\d)?-pro/, ["LOW", "MEDIUM", "HIGH"]],
  [/gemini-3(?:\.[0-6])?-flash|gemini-3\.\d-flash-lite|flash-lite-latest/, ["MINIMAL", "LOW", "MEDIUM", "HIGH"]],
  [/gemini-3\.[7-9]-flash/, ["LOW", "MEDIUM", "HIGH"]],
  [/gemini-(?:[4-9]|[a-z-]+-latest)/, ["LOW", "MEDIUM", "HIGH"]],
];

export const thinkingRules: readonly Rule[] = [
  {
    id: "thinking-budget-and-level",
    source: sources.both,
    find: (request) => {
      const { thinkingBudget: budget, thinkingLevel: level } = thinkingOf(request);
      return budget !== undefined && level !== undefined
        ? "You can only set only one of thinking budget and thinking level."
        : undefined;
    },
  },
  {
    id: "thinking-budget",
    source: sources.thinking,
    models: /gemini-2\.5/,
    find: (request) => {
      const { thinkingBudget: budget } = thinkingOf(request);
      const [, least = 0, most = 0, stops = true] = budgets.find(([models]) => models.test(request.model)) ?? [];
      if (budget === undefined || budget === -1 || (budget === 0 && stops)) return undefined;
      const isInRange = typeof budget === "number" && budget >= least && budget <= most;
      return isInRange
        ? undefined
        : `The thinking budget ${budget} is invalid. Please choose a value between ${least} and ${most}.`;
    },
  },
  {
    id: "no-thinking-budget",
    source: sources.migration,
    models: /gemini-[4-9]/,
    find: (request) =>
      thinkingOf(request).thinkingBudget === undefined ? undefined : "Thinking budget is not supported for this model.",
  },
  {
    id: "no-thinking-level",
    source: sources.thinking,
    models: /gemini-(?:1|2)/,
    find: (request) =>
      thinkingOf(request).thinkingLevel === undefined ? undefined : "Thinking level is not supported for this model.",
  },
  {
    id: "thinking-level",
    source: sources.levels,
    find: (request) => {
      const { thinkingLevel: level } = thinkingOf(request);
      const [, known] = levels.find(([models]) => models.test(request.model)) ?? [];
      return level === undefined || !known || known.includes(String(level).toUpperCase())
        ? undefined
        : `Thinking level ${level} is not supported for this model. Please retry with other thinking level.`;
    },
  },
  {
    id: "no-thinking",
    source: sources.thinking,
    models: /gemini-(?:1|2\.0)/,
    find: (request) =>
      Object.keys(thinkingOf(request)).length > 0 ? "Thinking is not enabled for this model." : undefined,
  },
  {
    id: "hidden-thinking",
    source: `${sources.levels} (thought summaries)`,
    find: (request) => {
      const { includeThoughts: shows, thinkingBudget: budget } = thinkingOf(request);
      return shows === true && budget === 0
        ? "Unable to submit request because thinking_config.include_thoughts is only enabled when thinking is enabled."
        : undefined;
    },
  },
  {
    id: "one-candidate",
    source: sources.migration,
    models: /gemini-[4-9]/,
    find: ({ body }) => {
      const config = isObject(body.generationConfig) ? body.generationConfig : {};
      return typeof config.candidateCount === "number" && config.candidateCount > 1
        ? "Multiple candidates is not enabled for this model"
        : undefined;
    },
  },
];
