import { countTokens } from "../lib/token-count.ts";
import { serveThread } from "./thread.ts";
import type { CountRequest } from "./token-thread.ts";

serveThread(({ strings }: CountRequest) => countTokens(strings));
