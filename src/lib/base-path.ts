/** Segments of plain characters, none of which begins with a dot; in an address, a header or HTML they mean themselves. */
const form = /^(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,63}){1,8}$/;

/** A path below which a gateway is, without a slash at its end; empty for the root. Undefined for anything else. */
export function readBasePath(text: string): string | undefined {
  const path = text.endsWith("/") ? text.slice(0, -1) : text;
  return path === "" || form.test(path) ? path : undefined;
}

/**
 * An address without the path below which the gateway is. Documents of discovery have it behind their own path (RFC 8414,
 * section 3.1; RFC 9728, section 3.1).
 */
export function withoutBasePath(address: string, basePath: string): string {
  const start = address.indexOf("/", address.indexOf("//") + 2);
  if (start < 0) return address;
  const path = address.slice(start);
  const document = /^\/\.well-known\/[^/?#]+/.exec(path)?.[0] ?? "";
  const rest = path.slice(document.length);
  if (!rest.startsWith(basePath)) return address;
  const below = rest.slice(basePath.length);
  return /^(?:[/?#]|$)/.test(below) ? address.slice(0, start) + document + below : address;
}
