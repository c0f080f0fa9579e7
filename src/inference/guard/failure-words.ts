import { UpstreamError } from "../../errors.ts";
import type { WindowChecks } from "../../guardrails/window.ts";
import { isObject } from "../../lib/json.ts";

/** Every string of a JSON value. */
function* stringsOf(value: unknown): Iterable<string> {
  if (typeof value === "string") yield value;
  else if (Array.isArray(value)) for (const item of value) yield* stringsOf(item);
  else if (isObject(value)) for (const inner of Object.values(value)) yield* stringsOf(inner);
}

/** Whether guardrails find something in the body of an error, which they deny or would replace. */
export async function findsAny(checks: WindowChecks, body: unknown): Promise<boolean> {
  for (const said of stringsOf(body)) {
    const text = checks.createWhole(said);
    text.isEnded = true;
    await checks.look(text, true);
    if (checks.isDenied || text.spans.length > 0) return true;
  }
  return false;
}

/** The failure of a provider without its words. Its status and headers say what to do next. */
export function withoutWords({ status, provider, headers, upstreamHeaders }: UpstreamError): UpstreamError {
  const message = `${provider} error: a guardrail found something in its message, which is left out`;
  return new UpstreamError(status, message, {
    ...(provider !== undefined && { provider }),
    headers,
    ...(upstreamHeaders && { upstreamHeaders }),
  });
}
