import { memoizeText } from "./bounded-map.ts";

const tokenForm = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Whether a text is a header name (RFC 9110, section 5.6.2). */
export function isHeaderName(name: string): boolean {
  return tokenForm.test(name);
}

/** Whether a text can be sent as a header value (RFC 9110, section 5.5). */
export function isHeaderValue(value: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this pattern looks for
  return !/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value);
}

/**
 * Names in a list header. Clients write lists as `A, B`, as `["A","B"]` and as `['A','B']`.
 *
 * @returns Lower-case names, or undefined when one is not a header name.
 */
export function readNameList(text: string): string[] | undefined {
  const bare = text.trim().replace(/^\[|\]$/g, "");
  const names = bare
    .split(",")
    .map((part) =>
      part
        .trim()
        .replace(/^["']|["']$/g, "")
        .toLowerCase(),
    )
    .filter((name) => name !== "");
  return names.every(isHeaderName) ? names : undefined;
}

/** Headers that belong to one connection (RFC 9110, section 7.6.1). */
const hopByHop = new Set(["connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"]);

/**
 * Names the gateways a request came through, the latest last, as `CDN-Loop` does for content networks (RFC 8586). A name of
 * its own: what begins with a prefix of ours never leaves.
 */
export const hopHeader = "gateway-hops";

const neverSent = new Set([
  hopHeader,
  "host",
  "content-length",
  "expect",
  "cookie",
  "forwarded",
  "x-real-ip",
  "via",
  "metadata-flavor",
  "x-aws-ec2-metadata-token",
  "x-google-metadata-request",
  // what a request does is decided by its method
  "x-http-method-override",
  "x-http-method",
  "x-method-override",
  "x-user-claims",
  "x-user-jwt",
  "x-upstream-authorization",
]);

const neverSentPrefixes = ["proxy-", "x-forwarded-", "x-aws-ec2-metadata-token"];

/** Dropped from every answer. */
const neverReturned = ["set-cookie", "alt-svc", "strict-transport-security"];

/** Dropped too where the answer is ours and not the upstream's own: what tells about its body as it came, and about its server. */
const notUnified = [
  "content-length",
  "content-encoding",
  "server-timing",
  "refresh",
  "location",
  "server",
  "x-powered-by",
  "date",
  "cache-control",
];

/** Names a `connection` header adds to the hop-by-hop ones. */
function namedByConnection(value: string | null | undefined): readonly string[] {
  if (!value || value === "keep-alive" || value === "close") return noNames;
  return value
    .toLowerCase()
    .split(",")
    .map((name) => name.trim());
}

const noNames: readonly string[] = [];

/** Decides by a header's name. The same few names come with every request, so what was decided is remembered. */
type NameFilter = (name: string) => boolean;

/** Which headers pass. Made once for a gateway, from its own prefixes, such as `x-gateway-`. */
export interface HeaderRules {
  /** Headers of a client that may go upstream at all. */
  readonly mayGoUpstream: NameFilter;
  /** Headers of an upstream that go back with a passthrough answer. */
  readonly returned: NameFilter;
  /** Headers of an upstream that go back with an answer in the gateway's own shape. */
  readonly returnedUnified: NameFilter;
}

/** Rules that keep the gateway's own headers on its side. */
export function createHeaderRules(ownPrefixes: readonly string[]): HeaderRules {
  const startsWithAny = (name: string, prefixes: readonly string[]) =>
    prefixes.some((prefix) => name.startsWith(prefix));
  const returned = (name: string) =>
    !hopByHop.has(name) && !neverReturned.includes(name) && !startsWithAny(name, ["proxy-", ...ownPrefixes]);
  return {
    mayGoUpstream: memoizeText(
      1_000,
      (name) =>
        !hopByHop.has(name) && !neverSent.has(name) && !startsWithAny(name, [...neverSentPrefixes, ...ownPrefixes]),
    ),
    returned: memoizeText(1_000, returned),
    returnedUnified: memoizeText(
      1_000,
      (name) => returned(name) && !notUnified.includes(name) && !name.startsWith("access-control-"),
    ),
  };
}

/** Members of `Headers` that some platforms have. */
interface ListedHeaders extends Headers {
  toJSON?(): Record<string, string | string[]>;
}

/** All headers by their names in lower case. Read once: asking the platform for each is slow. */
export class HeaderMap {
  readonly #values: Readonly<Record<string, string>>;

  constructor(headers: Headers) {
    this.#values = listHeaders(headers);
  }

  get(name: string): string | undefined {
    return Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
  }

  /** Their values by name; not to be written to. */
  values(): Readonly<Record<string, string>> {
    return this.#values;
  }
}

/** Headers by their names in lower case, as a new object. */
function listHeaders(headers: ListedHeaders): Record<string, string> {
  // adapters of hosts make headers of their own, which inherit this method and cannot be asked by it
  if (Object.getPrototypeOf(headers) === Headers.prototype && headers.toJSON) return joinRepeated(headers.toJSON());
  const listed: Record<string, string> = {};
  headers.forEach((value, name) => {
    listed[name] = value;
  });
  return listed;
}

const listings = new WeakMap<Headers, Readonly<Record<string, string>>>();

/** As `listHeaders`, for headers nobody writes to and several ask for: listed once. The result is not to be written to. */
export function listOnce(headers: Headers): Readonly<Record<string, string>> {
  const known = listings.get(headers);
  if (known) return known;
  const listed = listHeaders(headers);
  listings.set(headers, listed);
  return listed;
}

function joinRepeated(listed: Record<string, string | string[]>): Record<string, string> {
  for (const name of repeatable) {
    const values = listed[name];
    if (Array.isArray(values)) listed[name] = values.join(", ");
  }
  // no other header is listed more than once
  return listed as Record<string, string>;
}

/** Headers that platforms list value by value. */
const repeatable = ["set-cookie"];

/** Headers of a client's request that a passthrough call carries on. */
export function passthroughRequestHeaders(
  headers: Readonly<Record<string, string>>,
  mayGoUpstream: NameFilter,
): Record<string, string> {
  const kept: Record<string, string> = {};
  const connection = namedByConnection(headers.connection);
  for (const [name, value] of Object.entries(headers)) {
    if (mayGoUpstream(name) && !connection.includes(name)) kept[name] = value;
  }
  return kept;
}

/** Headers of an upstream's answer that a filter of `HeaderRules` lets go back to the client. */
export function answerHeaders(headers: Headers, passes: NameFilter): Record<string, string> {
  const kept: Record<string, string> = {};
  const listed = listOnce(headers);
  const connection = namedByConnection(listed.connection);
  for (const name in listed) {
    const value = listed[name];
    if (value !== undefined && passes(name) && !connection.includes(name)) kept[name] = value;
  }
  return kept;
}
