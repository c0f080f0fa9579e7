/** What depends on the generation of a Claude model (https://docs.claude.com/en/docs/about-claude/models/overview). */
export interface ClaudeFamily {
  /** Chooses its own thinking budget, guided by an effort level. */
  isAdaptive: boolean;
  /** Takes a thinking budget in tokens. */
  hasThinkingBudget: boolean;
  /** Rejects temperature and top_p together. */
  takesOneSampler: boolean;
  /** Takes JSON schemas in `output_config`; earlier models need a beta for them. */
  hasOutputConfig: boolean;
  /** `max_tokens` to send when the caller sets none. */
  defaultMaxTokens: number;
}

/** Version of a model from its name, in any host's spelling: major times 100 plus minor. Undefined when unknown. */
function readVersion(model: string): number | undefined {
  if (model.includes("claude-instant")) return 100;
  const named = /claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2})(?!\d))?(?!\d)/.exec(model);
  const [, major, minor = "0"] = named ?? /claude-v?(\d)(?:[-.](\d)(?!\d))?/.exec(model) ?? [];
  return major === undefined ? undefined : Number(major) * 100 + Number(minor);
}

/** Capabilities of a model. A name without a version counts as a new model. */
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
