/** A fenced code block of a Markdown text. */
interface Fence {
  /** First word after the opening fence, in lower case; empty without one. */
  readonly tag: string;
  readonly content: string;
}

/** Opening or closing fence: tildes at the start of a line, or backticks anywhere. */
const fence = /```|^ {0,3}~~~/gm;
/** What may follow three backticks: more of them, blanks, the first word, also inside braces. */
const opening = /^`*[ \t]*(?:\{\.)?([\w+#-]*)/;

function toFence(part: string): Fence {
  const [whole = "", tag = ""] = opening.exec(part) ?? [];
  return { tag: tag.toLowerCase(), content: part.slice(whole.length) };
}

/** The fenced blocks of a text in order; an unclosed block extends to the end. */
export function* readFences(text: string): Generator<Fence, void> {
  let opened: number | undefined;
  for (const { index, 0: found } of text.matchAll(fence)) {
    if (opened === undefined) opened = index + found.length;
    else {
      yield toFence(text.slice(opened, index));
      opened = undefined;
    }
  }
  if (opened !== undefined) yield toFence(text.slice(opened));
}
