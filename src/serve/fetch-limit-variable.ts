/**
 * Bun runs a bounded number of `fetch` calls of a process at once, whatever the host, and queues the rest without an error; a
 * response counts until its body was read. It reads the bound from this variable, once, when the process starts.
 */
export const fetchLimitVariable = "BUN_CONFIG_MAX_HTTP_REQUESTS";

/** The largest bound Bun takes. */
export const largestFetchLimit = 65_336;
