import { AnswerWalk } from "./answer-strings.ts";
import { type Leaves, readLeaves } from "./leaves.ts";
import type { RequestStrings } from "./members.ts";
import { type TextPlace, writeText } from "./texts.ts";
import { readToolRest } from "./tool-texts.ts";
import type { Body } from "./types.ts";

/** Lists up to this length are searched without a set. */
const shortList = 16;

/** The strings beside the given ones, each once. */
export function readRest(
  { phase, requestType }: TextPlace,
  body: Body,
  { known, request }: { known: readonly string[]; request: RequestStrings },
): Leaves {
  if (requestType === "mcpToolCall") return { texts: readToolRest(phase, body), hasOpaque: false };
  // of an event of a session everything is read that can be
  if (requestType === "realtime") return { texts: [], hasOpaque: false };
  const { texts, hasOpaque } = phase === "beforeRequestHook" ? readLeaves(body) : readAnswerLeaves(body, request);
  // a set reads its strings to their ends; short lists hold the same strings, which compare at once
  const seen = known.length > shortList ? new Set(known) : undefined;
  return { texts: texts.filter((text) => !(seen ? seen.has(text) : known.includes(text))), hasOpaque };
}

/** Every string of a response, each once. */
function readAnswerLeaves(body: Body, request: RequestStrings): Leaves {
  const found = new Set<string>();
  const collect = (text: string): string => {
    found.add(text);
    return text;
  };
  const walk = new AnswerWalk(collect, request);
  walk.walk(body);
  return { texts: [...found], hasOpaque: walk.hasOpaque };
}

/**
 * A response with strings replaced wherever it holds them; null leaves a string unchanged.
 *
 * @param known Its text, as `readText` has it, and then the rest.
 */
export function writeAnswer(
  place: TextPlace,
  body: Body,
  { known, texts, request }: { known: readonly string[]; texts: readonly (string | null)[]; request: RequestStrings },
): Body {
  const changed = writeText(place, body, { scope: "all", texts });
  const replaced = new Map<string, string>();
  for (const [index, text] of texts.entries()) {
    const before = known[index];
    if (text !== null && before !== undefined && text !== before) replaced.set(before, text);
  }
  if (replaced.size === 0) return changed;
  return new AnswerWalk((text) => replaced.get(text) ?? text, request).walk(changed);
}
