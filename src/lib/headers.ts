import { memoizeText } from "./bounded-map.ts";

const tokenForm = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Whether a string is a valid header name (RFC 9110, section 5.6.2). */
export function isHeaderName(name: string): boolean {
  return tokenForm.test(name);
}

/** Whether a string is a valid header value (RFC 9110, section 5.5). */
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
 * Lists the gateways a request passed, the latest last, like `CDN-Loop` for content networks (RFC 8586). It has no
 * gateway prefix, as such headers never leave the gateway.
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
  // the method determines what a request does
  "x-http-method-override",
  "x-http-method",
  "x-method-override",
  "x-user-claims",
  "x-user-jwt",
  "x-upstream-authorization",
]);

const neverSentPrefixes = ["proxy-", "x-forwarded-", "x-aws-ec2-metadata-token"];

/** Dropped from every response. */
const neverReturned = ["set-cookie", "alt-svc", "strict-transport-security"];

/** Also dropped from responses in the gateway's format: headers about the upstream's body and server. */
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

/** Header names that a `connection` header marks as hop-by-hop. */
function namedByConnection(value: string | null | undefined): readonly string[] {
  if (!value || value === "keep-alive" || value === "close") return noNames;
  return value
    .toLowerCase()
    .split(",")
    .map((name) => name.trim());
}

const noNames: readonly string[] = [];

/** Decides by header name; decisions are cached, since every request has the same few names. */
type NameFilter = (name: string) => boolean;

/** Which headers pass. Created once per gateway, from its prefixes, such as `x-gateway-`. */
export interface HeaderRules {
  /** Client headers that may be sent upstream. */
  readonly mayGoUpstream: NameFilter;
  /** Upstream headers that are returned with a passthrough response. */
  readonly returned: NameFilter;
  /** Upstream headers that are returned with a response in the gateway's format. */
  readonly returnedUnified: NameFilter;
}

/** Creates rules that keep the gateway's own headers inside. */
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

/** Methods of `Headers` that some platforms have. */
interface ListedHeaders extends Headers {
  toJSON?(): Record<string, string | string[]>;
}

/** All headers by lower-case name, read once: access through the platform is slow. */
export class HeaderMap {
  readonly #values: Readonly<Record<string, string>>;

  constructor(headers: Headers) {
    this.#values = listHeaders(headers);
  }

  get(name: string): string | undefined {
    return Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
  }

  /** Values by name; read-only. */
  values(): Readonly<Record<string, string>> {
    return this.#values;
  }
}

/** Headers by lower-case name, as a new object. */
function listHeaders(headers: ListedHeaders): Record<string, string> {
  // subclasses of host adapters inherit this method, but it fails on them
  if (Object.getPrototypeOf(headers) === Headers.prototype && headers.toJSON) return joinRepeated(headers.toJSON());
  const listed: Record<string, string> = {};
  headers.forEach((value, name) => {
    listed[name] = value;
  });
  return listed;
}

const listings = new WeakMap<Headers, Readonly<Record<string, string>>>();

/** As `listHeaders`, cached for headers that nobody modifies. The result is read-only. */
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

/** Headers of a client's request that a passthrough call forwards. */
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

/** Headers of an upstream's response that pass a filter of `HeaderRules`. */
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
