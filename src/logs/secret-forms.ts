import type { Steps } from "../lib/steps.ts";

/** What may stand before a credential: no letter or digit, unless it belongs to an escape of JSON. */
const before = "(?<=^|[^A-Za-z0-9]|\\\\[bfnrt])";

/**
 * Patterns of credentials that are masked in every stored text. None crosses a quote, so JSON stays JSON. A pattern
 * ends with its last class and requires nothing after it: otherwise a long run of that class would be scanned from each
 * of its characters.
 */
const forms: readonly RegExp[] = [
  "sk-[A-Za-z0-9_-]{16,}",
  "AIza[0-9A-Za-z_-]{30,}",
  "A(?:KIA|SIA)[0-9A-Z]{16}(?![0-9A-Za-z])",
  "(?:gsk|ek)_[A-Za-z0-9]{20,}",
  "hf_[A-Za-z0-9]{30,}",
  "(?:xai|pplx)-[A-Za-z0-9]{20,}",
  'openai-insecure-api-key\\.[^\\s,"]+',
].map((form) => new RegExp(before + form, "g"));

// in JSON inside of JSON, a line break has several backslashes
const privateKey =
  /-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[A-Za-z0-9+/=\s]+|\\+[nrt])*(?:-----END [A-Z ]*PRIVATE KEY-----)?/g;

/** A JWT from the beginning of its run of characters, which may be longer than its first part. */
const jwt = /(?<![A-Za-z0-9_-])([A-Za-z0-9_-]{11,})\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*/g;
const jwtHead = new RegExp(`${before}eyJ[A-Za-z0-9_-]{8}`);

/** Masks the JWT in a match of `jwt`; characters before it stay. */
function maskJwt(masked: string) {
  return (found: string, run: string, offset: number, text: string): string => {
    // the first letter of the run may belong to an escape: `\n`
    const lead = text[offset - 1] === "\\" ? "\\" : "";
    const head = jwtHead.exec(lead + run);
    return head ? run.slice(0, head.index - lead.length) + masked : found;
  };
}

/**
 * Substrings of which every pattern has one. Most text has none and is scanned once instead of once per pattern. The
 * rare last letter of `sk-`, `xai-` and `pplx-` comes first: common first letters halve the speed of the search.
 */
const hints =
  "(?:(?<=s)k|(?<=a)i|(?<=l)x)-[A-Za-z0-9_-]{16}|AIza|A(?:KIA|SIA)[0-9A-Z]{16}|[kf]_[A-Za-z0-9]{20}|eyJ[A-Za-z0-9_-]{8}|Y-----|insecure-api-key\\.";

/** The patterns of credentials, including this gateway's. */
interface SecretForms {
  /** False where `mask` would change nothing. */
  mayStandIn(text: string): boolean;
  mask(text: string): Steps<string>;
}

/** @param prefixes Prefixes of the keys and tokens that this gateway issues. */
export function createSecretForms(prefixes: readonly string[], masked: string): SecretForms {
  const own = new RegExp(`${before}(?:${prefixes.join("|")})_[0-9A-Za-z]{12}_[0-9A-Za-z]{20,}`, "g");
  const all = [own, ...forms, privateKey];
  const hint = new RegExp(`${hints}|[${prefixes.map((prefix) => prefix.slice(-1)).join("")}]_[0-9A-Za-z]{12}_`);
  const mayStandIn = (text: string) => hint.test(text);
  const asMasked = maskJwt(masked);
  return {
    mayStandIn,
    *mask(text) {
      let shown = text;
      for (const form of all) {
        shown = shown.replace(form, masked);
        yield shown.length >> 3;
      }
      return shown.replace(jwt, asMasked);
    },
  };
}
