import { isObject, valueText } from "../../../lib/json.ts";

/** How the value of a parameter is written (OpenAPI 3.0 and 3.1, "Style Values"; RFC 6570). */
export type Style = "form" | "simple" | "label" | "matrix" | "spaceDelimited" | "pipeDelimited" | "deepObject";

/** Style of a value. */
export interface Styling {
  readonly style: Style;
  /** Items and fields are written one by one, with the name of the parameter or their own. */
  readonly explode: boolean;
}

/** Escapes text for its place. */
type Escape = (text: string) => string;

const isThere = (value: unknown) => value !== undefined && value !== null;

/** The fields of an object as text; those without a value are left out. */
function fieldsOf(value: Readonly<Record<string, unknown>>): [name: string, text: string][] {
  return Object.entries(value).flatMap(([name, one]): [string, string][] =>
    isThere(one) ? [[name, valueText(one)]] : [],
  );
}

function itemsOf(value: readonly unknown[]): string[] {
  return value.filter(isThere).map(valueText);
}

/** Names and values in turn, or as pairs. */
function flatFields(value: Readonly<Record<string, unknown>>, explode: boolean, quote: Escape): string[] {
  return fieldsOf(value).flatMap(([name, text]) =>
    explode ? [`${quote(name)}=${quote(text)}`] : [quote(name), quote(text)],
  );
}

/** Fields and items in brackets, at any depth. */
function deepPairs(name: string, value: unknown, quote: Escape): string[] {
  if (!isThere(value)) return [];
  if (typeof value !== "object") return [`${quote(name)}=${quote(valueText(value))}`];
  if (Array.isArray(value)) return value.flatMap((one, index) => deepPairs(`${name}[${index}]`, one, quote));
  return Object.entries(value ?? {}).flatMap(([key, one]) => deepPairs(`${name}[${key}]`, one, quote));
}

/** What is between the items of a list that is not written one by one. */
const delimiters: Partial<Record<Style, string>> = { spaceDelimited: "%20", pipeDelimited: "%7C" };

/** A value as pairs of name and value for a query, a form or a cookie, escaped. */
export function writePairs(name: string, value: unknown, { style, explode }: Styling, quote: Escape): string[] {
  if (!isThere(value)) return [];
  if (style === "deepObject") return deepPairs(name, value, quote);
  const delimiter = delimiters[style] ?? ",";
  if (Array.isArray(value)) {
    const items = itemsOf(value).map(quote);
    if (explode) return items.map((item) => `${quote(name)}=${item}`);
    return items.length > 0 ? [`${quote(name)}=${items.join(delimiter)}`] : [];
  }
  if (!isObject(value)) return [`${quote(name)}=${quote(valueText(value))}`];
  const fields = flatFields(value, explode, quote);
  if (explode || fields.length === 0) return fields;
  return [`${quote(name)}=${fields.join(delimiter)}`];
}

/** A value as plain text: items and fields separated by commas. */
export function writeSimple(value: unknown, explode: boolean, quote: Escape): string {
  if (Array.isArray(value)) return itemsOf(value).map(quote).join(",");
  if (isObject(value)) return flatFields(value, explode, quote).join(",");
  return isThere(value) ? quote(valueText(value)) : "";
}

/** A value as part of a path, escaped; empty without a value. */
export function writePath(name: string, value: unknown, { style, explode }: Styling): string {
  const quote = encodeURIComponent;
  const plain = writeSimple(value, explode, quote);
  if (plain === "" || (style !== "label" && style !== "matrix")) return plain;
  const isList = Array.isArray(value);
  const isSpread = explode && (isList || isObject(value));
  if (style === "label") return `.${isSpread ? plain.replaceAll(",", ".") : plain}`;
  if (!isSpread) return `;${quote(name)}=${plain}`;
  const parts = plain.split(",");
  return parts.map((part) => (isList ? `;${quote(name)}=${part}` : `;${part}`)).join("");
}

/** Escapes for a query; characters with a meaning in URLs stay where the document allows that. */
export function escapeQuery(text: string, allowReserved: boolean): string {
  const escaped = encodeURIComponent(text);
  // those that separate pairs, names and values stay escaped
  return allowReserved ? escaped.replace(/%(?:3A|2F|3F|40|24|2C|3B)/g, decodeURIComponent) : escaped;
}

/** Escapes for `application/x-www-form-urlencoded`. */
export function escapeForm(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}

/** Whether a path leaves its place: a segment is `.` or `..` in one of the spellings that URLs take (WHATWG URL, section 4.4). */
export function hasDotSegments(path: string): boolean {
  return /(?:^|[/\\])(?:\.|%2e){1,2}(?:[/\\]|$)/i.test(path);
}
