/** `name-or-ipv4[:port]` or `[ipv6][:port]`: a valid Host header. */
const hostForm = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?$/;
const plainPath = /^[A-Za-z0-9_~:@!$&'()*+,=/-]*$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this pattern looks for
const controlCharacter = /[\u0000-\u001f\u007f]/;

/** Whether a string contains an ASCII control character. */
export function hasControlCharacter(text: string): boolean {
  return controlCharacter.test(text);
}

/** Whether a Host header is safe to build a URL from. */
export function isValidHost(host: string): boolean {
  const match = hostForm.exec(host);
  if (!match) return false;
  if (match[1] === undefined) return true;
  const port = Number(match[1]);
  return port >= 1 && port <= 65_535;
}

/**
 * Segments of a path as any server may read them: decoded, and split at encoded slashes, too.
 *
 * @throws {URIError} If a percent sign is malformed.
 */
export function readSegments(pathname: string): string[] {
  return pathname.split("/").flatMap((segment) => decodeURIComponent(segment).split("/"));
}

/**
 * Looks for what two servers may read differently: dot segments, control characters, backslashes.
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
      return "it has a malformed percent sign";
    }
    // some servers treat everything after a semicolon as parameters of the segment
    if (segments.some((segment) => /^\.\.?(?:;|$)/.test(segment))) return "it has a dot segment";
    const unsafe = segments.some((segment) => hasControlCharacter(segment) || segment.includes("\\"));
    if (unsafe) return "it has a control character or a backslash";
  }
  return undefined;
}

/** Whether a path has an encoded slash inside a segment. */
export function hasEncodedSlash(pathname: string): boolean {
  return /%2f/i.test(pathname);
}

/** Whether a path starts with an API version, such as `/v2/` or `/v1beta/`. */
export function hasVersion(path: string): boolean {
  return /^\/v[0-9]+(?:(?:alpha|beta)[0-9]*)?\//.test(path);
}

/** A base address without the version at its end. */
export function withoutVersion(base: string): string {
  return base.replace(/(?<!\/)\/v[0-9]+(?:(?:alpha|beta)[0-9]*)?\/?$/, "");
}

/** Joins a base address and a path; the query (with its `?`) is appended unchanged. */
export function joinUrl(base: string, path: string, query = ""): string {
  const trimmed = base.endsWith("/") ? base.slice(0, -1) : base;
  return `${trimmed}/${path.startsWith("/") ? path.slice(1) : path}${query}`;
}
