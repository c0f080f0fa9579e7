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

const neverSent = new Set([
  ...["host", "content-length", "expect", "cookie", "forwarded", "x-real-ip", "via"],
  ...["metadata-flavor", "x-aws-ec2-metadata-token", "x-google-metadata-request"],
  ...["x-user-claims", "x-user-jwt", "x-upstream-authorization"],
]);

const neverSentPrefixes = ["proxy-", "x-forwarded-", "x-aws-ec2-metadata-token"];

const neverReturned = new Set([
  ...["set-cookie", "alt-svc", "strict-transport-security", "content-length"],
  ...["date", "server", "x-powered-by", "refresh"],
]);

/** Names a `connection` header adds to the hop-by-hop ones. */
function namedByConnection(value: string | null | undefined): readonly string[] {
  if (!value || value === "keep-alive" || value === "close") return [];
  return value
    .toLowerCase()
    .split(",")
    .map((name) => name.trim());
}

/** Whether a client's header may go upstream at all; `ownPrefixes` are the gateway's, such as `x-gateway-`. */
export function mayGoUpstream(name: string, ownPrefixes: readonly string[]): boolean {
  if (hopByHop.has(name) || neverSent.has(name)) return false;
  return ![...neverSentPrefixes, ...ownPrefixes].some((prefix) => name.startsWith(prefix));
}

/** Headers of a client's request that a passthrough call carries on. */
export function passthroughRequestHeaders(
  headers: ReadonlyMap<string, string>,
  ownPrefixes: readonly string[],
): Record<string, string> {
  const kept: Record<string, string> = {};
  const connection = namedByConnection(headers.get("connection"));
  for (const [name, value] of headers) {
    if (mayGoUpstream(name, ownPrefixes) && !connection.includes(name)) kept[name] = value;
  }
  return kept;
}

/** Headers of an upstream's answer that go back to the client. `decoded`: the body's content coding was undone. */
export function answerHeaders(
  headers: Headers,
  options: { ownPrefixes: readonly string[]; decoded: boolean },
): Record<string, string> {
  const kept: Record<string, string> = {};
  const connection = namedByConnection(headers.get("connection"));
  headers.forEach((value, name) => {
    if (hopByHop.has(name) || neverReturned.has(name) || name.startsWith("proxy-")) return;
    if (options.decoded && (name === "content-encoding" || name === "server-timing")) return;
    if (connection.includes(name) || options.ownPrefixes.some((prefix) => name.startsWith(prefix))) return;
    kept[name] = value;
  });
  return kept;
}
