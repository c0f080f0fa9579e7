import { text } from "../text/frame.ts";

const capitals: ReadonlySet<string> = new Set([
  "api",
  "ip",
  "jwks",
  "jwt",
  "llm",
  "mcp",
  "ocr",
  "oidc",
  "scim",
  "ttl",
  "url",
]);

/** What a person reads for a value that the API names: its own words, else the value as it is. */
export const wordOf = (value: string): string => text.values[value] ?? value;

/** The name of a member of the API in words: `api_key_ttl` as `API key TTL`, `deniedFields` as `Denied fields`. */
export function nameOf(member: string): string {
  const own = text.members[member];
  if (own !== undefined) return own.charAt(0).toUpperCase() + own.slice(1);
  const words = member
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replaceAll(/[_\s]+/g, " ")
    .toLowerCase()
    .replace(/\bws\b/, "workspace")
    .replace(/\bvirtual key(s?)\b/, "stored provider$1")
    .split(" ")
    .filter((word) => word !== "");
  const name = words.map((word) => (capitals.has(word) ? word.toUpperCase() : word)).join(" ");
  return name.charAt(0).toUpperCase() + name.slice(1);
}
