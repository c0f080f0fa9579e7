import { posix } from "node:path";
import MarkdownIt, { type Token } from "markdown-it";
import { escapeHtml, toAnchor } from "./anchors.ts";

/** A part of a page below one heading, as the search sees it. */
export interface Part {
  readonly anchor: string;
  readonly heading: string;
  readonly text: string;
}

/** A page as HTML. */
export interface RenderedPage {
  readonly title: string;
  readonly html: string;
  readonly parts: readonly Part[];
  /** Headings of the second level. */
  readonly outline: readonly Part[];
}

/** The file of the site for a page of the repository. */
export function siteFileOf(path: string): string {
  if (path === "README.md") return "index.html";
  return `${posix.basename(path, ".md").toLowerCase()}.html`;
}

/**
 * A link of a page as a link of the site; undefined for a file of the repository that is no page.
 *
 * @param pages Files of the repository that are pages.
 */
function toSiteLink(href: string, from: string, pages: ReadonlySet<string>): string | undefined {
  if (/^[a-z]+:/i.test(href) || href.startsWith("#")) return href;
  const [file = "", anchor] = href.split("#");
  const target = posix.join(posix.dirname(from), file);
  if (!pages.has(target)) return undefined;
  return anchor === undefined ? siteFileOf(target) : `${siteFileOf(target)}#${anchor}`;
}

/** Replaces the links of a line; those to files without a page become their words. */
function rewriteLinks(children: Token[], from: string, pages: ReadonlySet<string>): Token[] {
  let isDropped = false;
  return children.filter((token) => {
    if (token.type === "link_close" && isDropped) {
      isDropped = false;
      return false;
    }
    if (token.type !== "link_open") return true;
    const link = toSiteLink(String(token.attrGet("href")), from, pages);
    isDropped = link === undefined;
    if (link !== undefined) token.attrSet("href", link);
    return link !== undefined;
  });
}

const plainOf = (token: Token | undefined): string =>
  (token?.children ?? []).map(({ type, content }) => (type.endsWith("break") ? " " : content)).join("");

const markdown = new MarkdownIt({ html: true });
markdown.renderer.rules.table_open = () => '<div class="table" tabindex="0"><table>';
markdown.renderer.rules.table_close = () => "</table></div>";
markdown.renderer.rules.fence = (tokens, index) => {
  const { info = "", content = "" } = tokens[index] ?? {};
  const name = info === "" ? "" : ` data-language="${escapeHtml(info)}"`;
  return `<pre tabindex="0"${name}><code>${escapeHtml(content)}</code></pre>\n`;
};

/** Gives headings their anchors, and collects what stands below each. */
function collectParts(tokens: readonly Token[]): { parts: Part[]; outline: Part[] } {
  const taken = new Map<string, number>();
  const parts: { anchor: string; heading: string; text: string }[] = [];
  const outline: Part[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.type === "heading_open") {
      const heading = plainOf(tokens[index + 1]);
      const part = { anchor: toAnchor(heading, taken), heading, text: "" };
      token.attrSet("id", part.anchor);
      parts.push(part);
      if (token.tag === "h2") outline.push(part);
    }
    const last = parts.at(-1);
    const isHeading = tokens[index - 1]?.type === "heading_open";
    if (last && token.type === "inline" && !isHeading) last.text += `${plainOf(token)} `;
  }
  return { parts, outline };
}

/** Makes the HTML of a page of the repository. */
export function renderPage(path: string, text: string, pages: ReadonlySet<string>): RenderedPage {
  const tokens = markdown.parse(text, {});
  const { parts, outline } = collectParts(tokens);
  for (const token of tokens) if (token.children) token.children = rewriteLinks(token.children, path, pages);
  return {
    title: parts[0]?.heading ?? path,
    html: markdown.renderer.render(tokens, markdown.options, {}),
    parts,
    outline,
  };
}
