/** Most chunks that are embedded in one call and stored together. */
export const blockChunks = 16;
/** Tokens of the chunks of one call, unless a single chunk has more: few enough for all providers. */
export const blockTokens = 8_000;
