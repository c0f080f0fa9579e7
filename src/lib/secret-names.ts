import { memoizeText } from "./bounded-map.ts";

/** A name without what separates its words, in lower case: `clientSecret`, `client-secret` and `client_secret` are one. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[_.\s-]/g, "");
}

/** Last words of names whose values are secrets wherever they stand, separators left out. */
const secretEndings =
  /(?:secret|password|passwd|passphrase|pwd|credentials?|authorization|cookie|(?:private|api|access|secret|account|signing|encryption|ssh|subscription|shared|master)key|clientassertion)$/;

/** Words before `token` that make it a credential; alone it may be a piece of text. */
const tokenEndings =
  /(?:access|refresh|sas|id|auth|session|bearer|api|security|secret|client|bot|user|vault|oauth|personal|gateway|jwt|admin|scim|service|deploy|upload|push)token$/;

/** What the value of a member is by its name: a secret, one only where it looks like one, or anything. */
export const kindOfMember: (name: string) => "secret" | "token" | "plain" = memoizeText(
  2_000,
  (name) => {
    const plain = plainName(name);
    if (secretEndings.test(plain) || tokenEndings.test(plain)) return "secret";
    return plain === "token" ? "token" : "plain";
  },
  64,
);

/** Headers that end like credentials and are none. */
const harmlessHeaders =
  /(?:^|-)(?:idempotency|cache|partition|sort|group|routing|affinity|public|websocket|object|surrogate)-key$/;

/** Last words of headers that carry credentials, and names that do without such a word. */
const secretHeaders =
  /(?:^|[-_])(?:[a-z]*key|[a-z]*key-id|[a-z]*token|[a-z]*secret|password|passwd|passphrase|pwd|credentials?|auth|authorization|authentication|[a-z]*cookie|session|session-id|signature|assertion|jwt|pat|key-md5)$|^x-functions-code$/;

/** Whether a header carries a credential, by its name in lower case. */
export const isSecretHeader: (name: string) => boolean = memoizeText(
  2_000,
  (name) => secretHeaders.test(name) && !harmlessHeaders.test(name),
  128,
);
