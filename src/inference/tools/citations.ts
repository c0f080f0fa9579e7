import type { FoundPage } from "./found-pages.ts";

/** A place of a text that names a page. */
interface Citation {
  readonly page: FoundPage;
  /** Where it begins and ends, in UTF-16 code units. */
  readonly start: number;
  readonly end: number;
}

/** Longest label of a link. */
const maxLabel = 300;
/** Most citations of a text. */
const maxCitations = 200;

/** The page of an address in a text, without the signs behind it that belong to the sentence. */
function findPage(
  address: string,
  pages: ReadonlyMap<string, FoundPage>,
): { page: FoundPage; length: number } | undefined {
  for (let length = address.length; length > 8 && address.length - length < 8; length--) {
    const name = address.slice(0, length);
    const page = pages.get(name) ?? pages.get(name.endsWith("/") ? name.slice(0, -1) : `${name}/`);
    if (page) return { page, length };
    if (!/[^\w/]$/.test(name)) return undefined;
  }
  return undefined;
}

/** A citation with the link around its address: `[label](address)`. */
function withLink(text: string, { page, start, end }: Citation): Citation {
  if (text.slice(start - 2, start) !== "](" || text[end] !== ")") return { page, start, end };
  const from = Math.max(0, start - maxLabel);
  const label = text.slice(from, start - 2).lastIndexOf("[");
  return label < 0 ? { page, start, end } : { page, start: from + label, end: end + 1 };
}

/** Where a text names pages that searches found. */
export function findCitations(text: string, pages: ReadonlyMap<string, FoundPage>): Citation[] {
  const found: Citation[] = [];
  if (pages.size === 0) return found;
  for (const { 0: address, index } of text.matchAll(/https?:\/\/[^\s<>"`\]]{1,2000}/g)) {
    const known = findPage(address, pages);
    if (known && found.length < maxCitations) {
      found.push(withLink(text, { page: known.page, start: index, end: index + known.length }));
    }
  }
  return found;
}
