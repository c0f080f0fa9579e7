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

/** The fenced blocks of a text; one that is not closed goes on to the end. */
export function readFences(text: string): Fence[] {
  const parts = text.replaceAll(tildes, "```").split("```");
  return parts
    .filter((_, index) => index % 2 === 1)
    .map((part) => {
      const [whole = "", tag = ""] = opening.exec(part) ?? [];
      return { tag: tag.toLowerCase(), content: part.slice(whole.length) };
    });
}
