/** What a bearer challenge says (RFC 6750, section 3; RFC 9728, section 5.1). */
export interface Challenge {
  /** Address of the metadata of the resource. */
  readonly metadata: string | undefined;
  readonly scope: string | undefined;
  readonly error: string | undefined;
}

const parameterForm = /([a-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))/gi;

/** Longest header that is read. */
const maxLength = 8_192;

/** The bearer challenge of a header; undefined without one. */
export function readChallenge(header: string | null): Challenge | undefined {
  if (header === null || header.length > maxLength || !/(?:^|,)\s*bearer(?:\s|$)/i.test(header)) return undefined;
  const found = new Map<string, string>();
  for (const [, name = "", quoted, plain] of header.matchAll(parameterForm)) {
    const value = quoted?.replace(/\\(.)/g, "$1") ?? plain ?? "";
    // the first one counts: a second one could be another scheme's
    if (!found.has(name.toLowerCase())) found.set(name.toLowerCase(), value);
  }
  return { metadata: found.get("resource_metadata"), scope: found.get("scope"), error: found.get("error") };
}
