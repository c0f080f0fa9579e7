/** `name-or-ipv4[:port]` or `[ipv6][:port]`; what a Host header may hold. */
const hostForm = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?$/;
const plainPath = /^[A-Za-z0-9_~:@!$&'()*+,=/-]*$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this pattern looks for
const controlCharacter = /[\u0000-\u001f\u007f]/;

/** Whether a text holds an ASCII control character. */
export function hasControlCharacter(text: string): boolean {
  return controlCharacter.test(text);
}

/** Whether the text of a Host header can be trusted to make a URL. */
export function isValidHost(host: string): boolean {
  const match = hostForm.exec(host);
  if (!match) return false;
  if (match[1] === undefined) return true;
  const port = Number(match[1]);
  return port >= 1 && port <= 65_535;
}

/**
 * Segments of a path as whoever serves it may read them: decoded, and parted at encoded slashes too.
 *
 * @throws {URIError} If a percent sign is malformed.
 */
export function readSegments(pathname: string): string[] {
  return pathname.split("/").flatMap((segment) => decodeURIComponent(segment).split("/"));
}

/**
 * Looks for what would make two readers of a path disagree: dot segments, control characters, backslashes.
 *
 * @returns What is wrong with the path, or undefined.
 */
export function findPathProblem(pathname: string): string | undefined {
  if (plainPath.test(pathname)) return undefined;
  for (const written of pathname.split("/")) {
    let segments: string[];
    try {
      segments = readSegments(written);
    } catch {
      return "it holds a malformed percent sign";
    }
    // some servers read what stands behind a semicolon as parameters of the segment
    if (segments.some((segment) => /^\.\.?(?:;|$)/.test(segment))) return "it holds a dot segment";
    const unsafe = segments.some((segment) => hasControlCharacter(segment) || segment.includes("\\"));
    if (unsafe) return "it holds a control character or a backslash";
  }
  return undefined;
}

/** Whether a path holds an encoded slash inside a segment. */
export function hasEncodedSlash(pathname: string): boolean {
  return /%2f/i.test(pathname);
}

/** Whether a path begins with the version of an interface, such as `/v2/` or `/v1beta/`. */
export function hasVersion(path: string): boolean {
  return /^\/v[0-9]+(?:(?:alpha|beta)[0-9]*)?\//.test(path);
}

/** A base address without the version it ends with. */
export function withoutVersion(base: string): string {
  return base.replace(/(?<!\/)\/v[0-9]+(?:(?:alpha|beta)[0-9]*)?\/?$/, "");
}

/** Joins a base address and a path by segments; the query (with its `?`) is appended as written. */
export function joinUrl(base: string, path: string, query = ""): string {
  const trimmed = base.endsWith("/") ? base.slice(0, -1) : base;
  return `${trimmed}/${path.startsWith("/") ? path.slice(1) : path}${query}`;
}
