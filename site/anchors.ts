/** The anchor that GitHub makes of a heading; `taken` holds those of the page so far. */
export function toAnchor(heading: string, taken: Map<string, number>): string {
  const plain = heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "");
  const anchor = plain.replaceAll(" ", "-");
  const count = taken.get(anchor) ?? 0;
  taken.set(anchor, count + 1);
  return count === 0 ? anchor : `${anchor}-${count}`;
}

/** Characters of HTML as text. */
export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
