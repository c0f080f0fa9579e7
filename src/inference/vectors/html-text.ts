import type { Budget } from "../../lib/budget.ts";
import type { Steps } from "../../lib/steps.ts";

/** Elements whose content is no text. */
const hidden = new Set(["script", "style", "noscript", "template", "svg", "iframe", "object"]);
/** Elements that begin a line. */
const lines = new Set(
  "p div br li tr h1 h2 h3 h4 h5 h6 section article header footer main nav aside table ul ol dl dt dd pre blockquote hr title form".split(
    " ",
  ),
);
/** Cells stand beside each other. */
const cells = new Set(["td", "th"]);

/** The entities that prose has; others stay as they are written. */
const entities: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  mdash: "—",
  ndash: "–",
  hellip: "…",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
  copy: "©",
  reg: "®",
  euro: "€",
  deg: "°",
};

function toCharacter(whole: string, name: string): string {
  if (!name.startsWith("#")) return Object.hasOwn(entities, name) ? (entities[name] ?? whole) : whole;
  const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number.parseInt(name.slice(1), 10);
  const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : "";
}

function decode(text: string): string {
  return text.replace(/&(#[xX][0-9a-fA-F]{1,6}|#[0-9]{1,7}|[a-zA-Z]{2,8});/g, toCharacter).replace(/\s{1,200}/g, " ");
}

/** Where the markup that begins at a place ends, and what it stands for in the text. */
function readMarkup(html: string, start: number): { end: number; text: string } | undefined {
  if (html.startsWith("<!--", start)) {
    const end = html.indexOf("-->", start + 4);
    return { end: end < 0 ? html.length : end + 3, text: "" };
  }
  const [, slash, tag = ""] = /^<(\/?)([a-zA-Z][a-zA-Z0-9]{0,20}|[!?])/.exec(html.slice(start, start + 24)) ?? [];
  if (tag === "") return undefined;
  const close = html.indexOf(">", start);
  const end = close < 0 ? html.length : close + 1;
  const name = tag.toLowerCase();
  if (slash === "" && hidden.has(name)) {
    const closing = new RegExp(`</${name}`, "gi");
    closing.lastIndex = end;
    const found = closing.exec(html);
    return { end: found ? found.index : html.length, text: "" };
  }
  return { end, text: lines.has(name) ? "\n" : cells.has(name) ? " " : "" };
}

/** The text of a page of HTML, its lines where blocks begin. Every step goes forward: the work is linear. */
export function* toPlainText(html: string, budget: Budget): Steps<string> {
  const pieces: string[] = [];
  for (let place = 0; place < html.length; ) {
    const found = html.indexOf("<", place);
    const start = found < 0 ? html.length : found;
    pieces.push(decode(html.slice(place, start)));
    const markup = start < html.length ? readMarkup(html, start) : { end: html.length, text: "" };
    if (!markup) pieces.push("<");
    else if (markup.text !== "") pieces.push(markup.text);
    const next = markup ? markup.end : start + 1;
    budget.step(next - place);
    place = next;
    if (budget.isDue) yield budget.endPiece();
  }
  const text = pieces.join("");
  budget.step(text.length);
  return text.replace(/ {0,200}\n[ \n]{0,2000}/g, "\n").trim();
}
