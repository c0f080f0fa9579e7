import type { CallerContext } from "../../context.ts";
import type { Destination } from "../../providers/core/call.ts";
import type { InheritedSettings } from "../../routing/config.ts";
import { readClientHeader, readForwardedHeaders } from "../target/target.ts";
import type { TargetGuard } from "./target-guard.ts";

/** What decides which headers a target's provider receives. */
interface HeaderSource {
  destination: Destination;
  settings?: Pick<InheritedSettings, "forwardHeaders"> | undefined;
  guard?: TargetGuard | undefined;
}

/**
 * Headers for the provider besides those of the operation and the credential: forwarded ones, those the provider reads
 * of its clients, those of guardrails, and those of the integration.
 */
export function sentHeaders(
  { destination: { provider, managed }, settings, guard }: HeaderSource,
  context: CallerContext,
): Record<string, string> {
  const forwarded = readForwardedHeaders(context, settings?.forwardHeaders);
  for (const header of provider.clientHeaders) {
    const value = readClientHeader(header, context);
    if (value !== undefined) forwarded[header] ??= value;
  }
  guard?.addHeaders(forwarded);
  return managed ? Object.assign(forwarded, managed.headers) : forwarded;
}
