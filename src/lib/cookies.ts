/** The value of a cookie of a request (RFC 6265, section 4.2); undefined without it, or if it was sent twice. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  const values = (header ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 ? values[0] : undefined;
}

/** How a cookie is sent. */
interface CookieRules {
  readonly maxAgeSeconds: number;
  /** Only over TLS. */
  readonly isSecure: boolean;
  /** `Strict`: with no request that another site starts; `Lax`: with those that open a page. */
  readonly sameSite: "Strict" | "Lax";
}

/** A cookie for this host and all of its paths, which scripts cannot read. */
export function cookieOf(name: string, value: string, { maxAgeSeconds, isSecure, sameSite }: CookieRules): string {
  const secure = isSecure ? "; Secure" : "";
  return `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}${secure}; HttpOnly; SameSite=${sameSite}`;
}

/** A cookie for this host alone, which scripts cannot read and other sites' requests do not carry. */
export function hostCookie(name: string, value: string, maxAgeSeconds: number): string {
  return cookieOf(name, value, { maxAgeSeconds, isSecure: true, sameSite: "Lax" });
}
