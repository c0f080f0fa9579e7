/** What depends on the generation of a Claude model (https://docs.claude.com/en/docs/about-claude/models/overview). */
export interface ClaudeFamily {
  /** Decides itself how long to think, guided by an effort. */
  isAdaptive: boolean;
  /** Thinks within a budget of tokens. */
  hasThinkingBudget: boolean;
  /** Refuses temperature and top_p together. */
  takesOneSampler: boolean;
  /** Takes JSON schemas in `output_config`; earlier ones take them behind a beta. */
  hasOutputConfig: boolean;
  /** Longest answer that is asked for when the caller names no length. */
  defaultMaxTokens: number;
}

/** Version of a model by its name in whichever form a host writes it: major times 100 plus minor; undefined when unknown. */
function readVersion(model: string): number | undefined {
  if (model.includes("claude-instant")) return 100;
  const named = /claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2})(?!\d))?(?!\d)/.exec(model);
  const [, major, minor = "0"] = named ?? /claude-v?(\d)(?:[-.](\d)(?!\d))?/.exec(model) ?? [];
  return major === undefined ? undefined : Number(major) * 100 + Number(minor);
}

/** What a model can do. One whose name tells no version is taken for a new one. */
export function familyOf(model: string): ClaudeFamily {
  const version = readVersion(model) ?? Number.POSITIVE_INFINITY;
  const isAdaptive = version >= 406;
  return {
    isAdaptive,
    hasThinkingBudget: !isAdaptive && version >= 307,
    takesOneSampler: version >= 401,
    hasOutputConfig: version >= 405,
    defaultMaxTokens: version < 305 ? 4_096 : 8_192,
  };
}
