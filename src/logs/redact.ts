import { fromBase64Url, toHex } from "../lib/base64.ts";
import { BoundedMap, memoizeText } from "../lib/bounded-map.ts";
import { namesSavedConfig } from "../lib/config-name.ts";
import type { Mac } from "../lib/hash.ts";
import { credentialHeaders, gatewayCredentials, isSecretHeader } from "../lib/secret-names.ts";
import { runNow, type Steps } from "../lib/steps.ts";
import { toAsciiShadow } from "./ascii-shadow.ts";
import { createSecretForms } from "./secret-forms.ts";
import { createMemberMask, masked } from "./secret-members.ts";

/** No pattern matches a shorter text. */
const shortestSecret = 16;

/** How long a credential stays in memory to reuse its digest. */
const rememberDigestsMs = 5 * 60_000;

/** Most header names whose kind is cached. */
const rememberedNames = 1_000;

/** Removes secrets from what is stored. */
export interface Redactor {
  /**
   * Header values as they may be stored: sensitive ones become `hmac:<12 hex>`, others are masked by pattern.
   *
   * @param extra Lower-case names that the caller wants hidden; null hides all but common headers.
   */
  headers(
    headers: Readonly<Record<string, string>>,
    extra: readonly string[] | null,
  ): Record<string, string> | Promise<Record<string, string>>;
  /** As `headers` without masking others: for callers that mask the text the headers become part of. */
  hide(
    headers: Readonly<Record<string, string>>,
    extra: readonly string[] | null,
  ): Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  /** A text without anything that looks like a credential, and without JSON values whose names mark them as secret. */
  text(text: string): string;
  /** As `text`, for long strings on the request loop. */
  textSteps(text: string): Steps<string>;
  /** Whether the value of a header is hidden, by its lower-case name. */
  isSensitive(name: string): boolean;
  /** False where `text` would change nothing. */
  mayHoldSecret(text: string): boolean;
}

/** Headers that stay readable when the caller's list of sensitive names is unreadable. */
const commonHeaders = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "content-length",
  "content-type",
  "host",
  "user-agent",
  "date",
]);

/** Prefix of SCIM tokens, which identity providers use. */
const scimPrefix = "scim";

/** Settings of a redactor that can be posted to another thread. */
export interface RedactionSettings extends Omit<RedactorOptions, "mac"> {
  /** Key for digests of sensitive values. */
  key: Uint8Array<ArrayBuffer>;
}

/** Options of a redactor. */
export interface RedactorOptions {
  /** Digest for sensitive values, with a separate key. */
  mac: Mac;
  /** Prefix of gateway keys. */
  keyPrefix: string;
  /** Lower-case names of further headers that are hidden: those the operator names, and secret settings of providers. */
  sensitiveNames: readonly string[];
  /** Settings of providers that are credentials, in snake_case: members of these names are masked in JSON. Default: none. */
  secretMembers?: readonly string[];
  /** Header prefixes that are equivalent to `x-gateway-`. */
  aliasPrefixes: readonly string[];
}

/** What values are shown as that are hidden: their digests, remembered for a while. */
function createDigests(mac: Mac): (value: string) => string | Promise<string> {
  const digests = new BoundedMap<string, string>(2_000);
  let digestsSince = performance.now();
  const remember = (value: string, digest: string): string => {
    const shown = `hmac:${hexOf(digest)}`;
    if (value.length <= 4096) digests.set(value, shown);
    return shown;
  };
  return (value) => {
    if (performance.now() - digestsSince > rememberDigestsMs) {
      digests.clear();
      digestsSince = performance.now();
    }
    const known = digests.get(value);
    if (known !== undefined) return known;
    const digest = mac(value);
    return typeof digest === "string" ? remember(value, digest) : digest.then((late) => remember(value, late));
  };
}

/** Creates the redactor of a gateway. */
export function createRedactor(options: RedactorOptions): Redactor {
  const forms = createSecretForms([options.keyPrefix, scimPrefix], masked);
  const prefixes = ["x-gateway-", ...options.aliasPrefixes];
  const ownNames = prefixes.flatMap((prefix) => gatewayCredentials.map((name) => prefix + name));
  const names = new Set([...credentialHeaders, ...ownNames, ...options.sensitiveNames]);
  const configNames = new Set(prefixes.map((prefix) => `${prefix}config`));
  const kindOf = memoizeText(
    rememberedNames,
    (name) => (names.has(name) || isSecretHeader(name) ? "sensitive" : configNames.has(name) ? "config" : "plain"),
    128,
  );
  const members = createMemberMask(options.secretMembers);
  const mayHoldSecret = (value: string): boolean => forms.mayStandIn(value) || members.mayStandIn(value);
  function* textSteps(value: string): Steps<string> {
    const sought = toAsciiShadow(value);
    const shown = members.mayStandIn(sought) ? yield* members.mask(value, sought) : value;
    const mayStandIn = forms.mayStandIn(shown === value ? sought : toAsciiShadow(shown));
    return mayStandIn ? yield* forms.mask(shown) : shown;
  }
  const text = (value: string): string =>
    mayHoldSecret(value) ? runNow(textSteps(value), Number.POSITIVE_INFINITY) : value;
  const digestOf = createDigests(options.mac);
  /** Whether a header is hidden that stands under this name. */
  const isHidden = (name: string, value: string, extra: readonly string[] | null): boolean => {
    const isAsked = extra === null ? !commonHeaders.has(name) : extra.length > 0 && extra.includes(name);
    if (isAsked) return true;
    const kind = kindOf(name);
    return kind === "sensitive" || (kind === "config" && isInlineConfig(value));
  };
  const holdsHidden = (headers: Readonly<Record<string, string>>, extra: readonly string[] | null): boolean => {
    for (const name in headers) if (isHidden(name, headers[name] ?? "", extra)) return true;
    return false;
  };
  const hideNamed = (
    headers: Readonly<Record<string, string>>,
    extra: readonly string[] | null,
    mask: (value: string) => string,
  ) => {
    const result: Record<string, string> = {};
    const late: Promise<void>[] = [];
    for (const name in headers) {
      const value = headers[name] ?? "";
      const shown = isHidden(name, value, extra) ? digestOf(value) : mask(value);
      if (typeof shown === "string") result[name] = shown;
      else late.push(shown.then((digest) => void Object.assign(result, { [name]: digest })));
    }
    return late.length === 0 ? result : Promise.all(late).then(() => result);
  };
  return {
    text,
    textSteps,
    mayHoldSecret,
    isSensitive: (name) => kindOf(name) === "sensitive",
    headers: (headers, extra) =>
      hideNamed(headers, extra, (value) => (value.length < shortestSecret ? value : text(value))),
    // headers of responses seldom hold any
    hide: (headers, extra) => (holdsHidden(headers, extra) ? hideNamed(headers, extra, asIs) : headers),
  };
}

const asIs = (value: string): string => value;

/** An inline config may hold any credentials; the name of a saved one holds none, and hidden ones need no masking. */
function isInlineConfig(value: string): boolean {
  return !namesSavedConfig(value) && !/^hmac:[0-9a-f]{12}$/.test(value);
}

/** The first 12 hexadecimal digits of a base64url digest. */
function hexOf(digest: string): string {
  return toHex(fromBase64Url(digest.slice(0, 8)));
}
