import { nameOf } from "@/lib/words.ts";
import type { Span } from "./data.ts";

/** What a span is called: by its caller, by its tool, or by what was asked. */
export function nameOfSpan({ listed }: Span): string {
  const { span_name: given, mcp, operation = "" } = listed;
  return given || [mcp?.name, nameOf(operation)].find((name) => name !== undefined && name !== "") || operation;
}

/** What a span called. */
export const targetOfSpan = ({ listed: { mcp, provider, model } }: Span): string =>
  [mcp?.server, provider, model].filter(Boolean).join(" · ");
