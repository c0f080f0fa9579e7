/** Most instructions of all patterns of a config, separately for guardrails and conditions. */
export const maxConfigPatterns = 10_000;
export const maxConditionPatterns = 30_000;
