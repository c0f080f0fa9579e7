import type { ProviderCall } from "../../providers/core/call.ts";

/** What a call needs besides the parts of its attempt. */
export type PreparedCall = Omit<ProviderCall, "signal" | "url">;
