import { memoizeText } from "./bounded-map.ts";

/** A name in lower case without separators: `clientSecret`, `client-secret` and `client_secret` become equal. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[_.\s-]/g, "");
}

/** Last words of names whose values are always secret, without separators. */
const secretEndings =
  /(?:secret|password|passwd|passphrase|pwd|credentials?|authorization|cookie|(?:private|api|access|secret|account|signing|encryption|ssh|subscription|shared|master)key|clientassertion)$/;

/** Words before `token` that make it a credential; `token` alone may be text. */
const tokenEndings =
  /(?:access|refresh|sas|id|auth|session|bearer|api|security|secret|client|bot|user|vault|oauth|personal|gateway|jwt|admin|scim|service|deploy|upload|push)token$/;

/** What a field's name says about its value: secret, secret only if it looks like a token, or anything. */
export const kindOfMember: (name: string) => "secret" | "token" | "plain" = memoizeText(
  2_000,
  (name) => {
    const plain = plainName(name);
    if (secretEndings.test(plain) || tokenEndings.test(plain)) return "secret";
    return plain === "token" ? "token" : "plain";
  },
  64,
);

/** Header names that resemble credentials and are harmless. */
const harmlessHeaders =
  /(?:^|-)(?:idempotency|cache|partition|sort|group|routing|affinity|public|websocket|object|surrogate)-key$/;

/** Last words of headers that carry credentials, and names without such a word. */
const secretHeaders =
  /(?:^|[-_])(?:[a-z]*key|[a-z]*key-id|[a-z]*token|[a-z]*secret|password|passwd|passphrase|pwd|credentials?|auth|authorization|authentication|[a-z]*cookie|session|session-id|signature|assertion|jwt|pat|key-md5)$|^x-functions-code$/;

/** Whether a header (in lower case) carries a credential. */
export const isSecretHeader: (name: string) => boolean = memoizeText(
  2_000,
  (name) => secretHeaders.test(name) && !harmlessHeaders.test(name),
  128,
);

/** Headers that hold a bare key of the caller, besides our own: first those of Anthropic's clients, then of Google's. */
export const bareKeyHeaders = ["x-api-key", "x-goog-api-key"] as const;

/** Headers from which the key of a caller is read, besides our own. */
export const callerKeyHeaders = ["authorization", ...bareKeyHeaders] as const;

/**
 * The one list of headers that hold credentials, ours aside: never stored in clear, and whoever chooses headers of callers
 * to forward never gets these.
 */
export const credentialHeaders: ReadonlySet<string> = new Set([
  ...callerKeyHeaders,
  "proxy-authorization",
  "cookie",
  "set-cookie",
  "api-key",
  "apikey",
  "x-auth-token",
  "x-access-token",
  "ocp-apim-subscription-key",
  "x-amz-security-token",
]);

/** Our own headers that hold credentials, without their prefix. */
export const gatewayCredentials = ["api-key", "virtual-key", "oauth", "csrf"] as const;

/** Words of names of headers that hold credentials, or what a proxy says of who signed in. */
const credentialWords =
  /auth(?!or(?:$|[-_s]))|token|secret|passw|passphrase|pwd|assertion|credential|cookie|session|csrf|xsrf|jwt|saml|oidc|dpop|signature|principal|(?:^|[-_])(?:pat|sid|sso|otp|id[-_]data)(?:$|[-_])|(?:^|[-_])[a-z]*key(?:$|[-_])/;

/**
 * Whether a header (in lower case) may carry a credential, by any word of its name: for headers that nobody listed one by
 * one.
 */
export const mayCarryCredential: (name: string) => boolean = memoizeText(
  2_000,
  (name) => (credentialWords.test(name) && !harmlessHeaders.test(name)) || isSecretHeader(name),
  128,
);
