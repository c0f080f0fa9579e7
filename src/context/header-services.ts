import type { ContentCoding } from "../lib/content-coding.ts";
import type { HeaderRules } from "../lib/headers.ts";

/** What decides the headers of the gateway's own that requests have, and its responses. */
export interface HeaderServices {
  /** Prefixes of the gateway's headers, `x-gateway-` first. */
  readonly headerPrefixes: readonly string[];
  readonly headerRules: HeaderRules;
  readonly serverTiming: boolean;
  /** How responses may be compressed, what is preferred first. */
  readonly contentCodings: readonly ContentCoding[];
}
