/** A fenced block of a Markdown text. */
export interface Fence {
  /** First word after the opening fence, in lower case; empty where there is none. */
  readonly tag: string;
  readonly content: string;
}

/** Fences of tildes, which mean the same as those of backticks. */
const tildes = /^ {0,3}~~~/gm;
/** What stands behind three backticks: more of them, blanks, the first word, also inside braces. */
const opening = /^`*[ \t]*(?:\{\.)?([\w+#-]*)/;

function toFence(part: string): Fence {
  const [whole = "", tag = ""] = opening.exec(part) ?? [];
  return { tag: tag.toLowerCase(), content: part.slice(whole.length) };
}

/** The fenced blocks of a text, one after the other; one that is not closed goes on to the end. */
export function* readFences(text: string): Generator<Fence, void> {
  const whole = text.includes("~~~") ? text.replaceAll(tildes, "```") : text;
  for (let start = whole.indexOf("```"); start !== -1; ) {
    const end = whole.indexOf("```", start + 3);
    yield toFence(whole.slice(start + 3, end < 0 ? undefined : end));
    start = end < 0 ? -1 : whole.indexOf("```", end + 3);
  }
}
