import { fromBase64Url, toHex } from "../lib/base64.ts";
import { BoundedMap, memoizeText } from "../lib/bounded-map.ts";
import type { Mac } from "../lib/hash.ts";
import { isSecretHeader } from "../lib/secret-names.ts";
import { runNow, type Steps } from "../lib/steps.ts";
import { createSecretForms } from "./secret-forms.ts";
import { createMemberMask, masked } from "./secret-members.ts";

/** Headers whose values are never stored, whatever a caller says. */
const alwaysSensitive = [
  "authorization",
  "proxy-authorization",
  "api-key",
  "x-api-key",
  "x-goog-api-key",
  "cookie",
  "set-cookie",
  "x-gateway-api-key",
  "x-gateway-virtual-key",
  "x-gateway-oauth",
  "x-amz-security-token",
];

/** No form fits a shorter text. */
const shortestSecret = 16;

/** Longest a value that is a credential stays in memory for the sake of its digest. */
const rememberDigestsMs = 5 * 60_000;

/** Most header names whose kind is remembered. */
const rememberedNames = 1_000;

/** Takes secrets out of what is stored. */
export interface Redactor {
  /**
   * Header values as they may be stored: those of sensitive names become `hmac:<12 hex>`, the rest is masked by form.
   *
   * @param extra Lower-case names a caller wants hidden; null hides every header that is not common.
   */
  headers(
    headers: Readonly<Record<string, string>>,
    extra: readonly string[] | null,
  ): Record<string, string> | Promise<Record<string, string>>;
  /** As `headers`, with the rest as it is: for whoever masks the text the headers become part of. */
  hide(
    headers: Readonly<Record<string, string>>,
    extra: readonly string[] | null,
  ): Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  /** A text without anything that has the form of a credential, or stands in JSON under the name of one. */
  text(text: string): string;
  /** As `text`, for long texts where requests are answered. */
  textSteps(text: string): Steps<string>;
  /** False where `text` would change nothing. */
  mayHoldSecret(text: string): boolean;
}

/** Headers that stay readable when a caller's list of sensitive names cannot be read. */
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

/** Prefix of tokens of identity providers. */
const scimPrefix = "scim";

/** Settings of a redactor that can be handed to another thread. */
export interface RedactionSettings extends Omit<RedactorOptions, "mac"> {
  /** Key of the digest for sensitive values. */
  key: Uint8Array<ArrayBuffer>;
}

/** What a redactor is made from. */
export interface RedactorOptions {
  /** Digest for sensitive values, under a key of its own. */
  mac: Mac;
  /** Prefix of gateway keys. */
  keyPrefix: string;
  /** Lower-case names of further headers that are hidden: those the operator names, and secret settings of providers. */
  sensitiveNames: readonly string[];
  /** Settings of providers that are credentials, in snake_case: members of these names are masked in JSON. Default: none. */
  secretMembers?: readonly string[];
  /** Prefixes that are read like `x-gateway-`. */
  aliasPrefixes: readonly string[];
}

/** Creates the redactor of a gateway. */
export function createRedactor(options: RedactorOptions): Redactor {
  const forms = createSecretForms([options.keyPrefix, scimPrefix], masked);
  const names = new Set([...alwaysSensitive, ...options.sensitiveNames]);
  for (const prefix of options.aliasPrefixes) {
    for (const name of alwaysSensitive) {
      if (name.startsWith("x-gateway-")) names.add(prefix + name.slice("x-gateway-".length));
    }
  }
  const configNames = new Set(["x-gateway-", ...options.aliasPrefixes].map((prefix) => `${prefix}config`));
  const kindOf = memoizeText(
    rememberedNames,
    (name) => (names.has(name) || isSecretHeader(name) ? "sensitive" : configNames.has(name) ? "config" : "plain"),
    128,
  );
  const members = createMemberMask(options.secretMembers);
  const mayHoldSecret = (value: string): boolean => forms.mayStandIn(value) || members.mayStandIn(value);
  function* textSteps(value: string): Steps<string> {
    const shown = members.mayStandIn(value) ? yield* members.mask(value) : value;
    return forms.mayStandIn(shown) ? yield* forms.mask(shown) : shown;
  }
  const text = (value: string): string =>
    mayHoldSecret(value) ? runNow(textSteps(value), Number.POSITIVE_INFINITY) : value;
  const digests = new BoundedMap<string, string>(2_000);
  let digestsSince = performance.now();
  const remember = (value: string, digest: string): string => {
    const shown = `hmac:${hexOf(digest)}`;
    if (value.length <= 4096) digests.set(value, shown);
    return shown;
  };
  const digestOf = (value: string): string | Promise<string> => {
    if (performance.now() - digestsSince > rememberDigestsMs) {
      digests.clear();
      digestsSince = performance.now();
    }
    const known = digests.get(value);
    if (known !== undefined) return known;
    const digest = options.mac(value);
    return typeof digest === "string" ? remember(value, digest) : digest.then((late) => remember(value, late));
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
      const isAsked = extra === null ? !commonHeaders.has(name) : extra.length > 0 && extra.includes(name);
      const kind = isAsked ? "sensitive" : kindOf(name);
      const sensitive = kind === "sensitive" || (kind === "config" && isInlineConfig(value));
      const shown = sensitive ? digestOf(value) : mask(value);
      if (typeof shown === "string") result[name] = shown;
      else late.push(shown.then((digest) => void Object.assign(result, { [name]: digest })));
    }
    return late.length === 0 ? result : Promise.all(late).then(() => result);
  };
  return {
    text,
    textSteps,
    mayHoldSecret,
    headers: (headers, extra) =>
      hideNamed(headers, extra, (value) => (value.length < shortestSecret ? value : text(value))),
    hide: (headers, extra) => hideNamed(headers, extra, asIs),
  };
}

const asIs = (value: string): string => value;

/** A config may hold credentials of any form; the slug of a saved one holds none, and some are hidden already. */
function isInlineConfig(value: string): boolean {
  return !value.startsWith("pc-") && !/^hmac:[0-9a-f]{12}$/.test(value);
}

/** The first 12 hexadecimal digits of a base64url digest. */
function hexOf(digest: string): string {
  return toHex(fromBase64Url(digest.slice(0, 8)));
}
