/**
 * Bun limits the concurrent `fetch` calls of a process, whatever the host, and silently queues the rest; a response
 * counts until its body was read. Bun reads the limit from this variable, once, at process start.
 */
export const fetchLimitVariable = "BUN_CONFIG_MAX_HTTP_REQUESTS";

/** The largest limit that Bun accepts. */
export const largestFetchLimit = 65_336;
