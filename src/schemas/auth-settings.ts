import * as v from "valibot";
import { Flag } from "./control.ts";

/** Signature algorithms that tokens may use (RFC 7518, section 3.1, and RFC 8037): never symmetric ones or `none`. */
export const tokenAlgorithms = [
  ...(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] as const),
  ...(["ES256", "ES384", "ES512", "EdDSA"] as const),
] as const;
export type TokenAlgorithm = (typeof tokenAlgorithms)[number];

/** Most key set addresses of one organisation. */
const maxUrls = 10;

function splitList(text: string): string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/** A string or a list of strings; parsed to a list. */
const Strings = v.pipe(
  v.union([v.string(), v.array(v.string())], "must be a string or a list of strings"),
  v.transform((strings) => (typeof strings === "string" ? [strings] : strings).filter((text) => text !== "")),
  v.maxLength(50, "must have at most 50 entries"),
  v.everyItem((text) => text.length <= 2048, "must have strings of at most 2048 characters"),
);

/** The identity provider at which users sign in with a browser (OpenID Connect). Its secret is sealed elsewhere. */
export const OidcSettings = v.object({
  issuer: v.string(),
  client_id: v.string(),
  scope: v.nullish(v.string()),
  token_endpoint_auth_method: v.nullish(v.picklist(["client_secret_basic", "client_secret_post", "none"])),
});
export type OidcSettings = v.InferOutput<typeof OidcSettings>;

/** How an organisation's tokens are verified: the content of `organisations.auth_settings`. */
export const AuthSettings = v.object({
  /** Addresses of key sets, separated by commas; parsed to a list. */
  jwks_url: v.nullish(
    v.pipe(
      v.string(),
      v.transform(splitList),
      v.maxLength(maxUrls, `must name at most ${maxUrls} addresses`),
      v.everyItem((url) => /^https?:\/\/[^/]/.test(url) && url.length <= 2048, "must have http or https addresses"),
    ),
  ),
  /** A key set (RFC 7517, section 5). */
  jwks: v.nullish(v.looseObject({ keys: v.array(v.looseObject({})) })),
  algorithms: v.nullish(
    v.array(v.picklist(tokenAlgorithms, `must be any of ${tokenAlgorithms.join(", ")}`), "must be a list"),
  ),
  issuer: v.nullish(Strings),
  audience: v.nullish(Strings),
  /** Scopes that every token has in addition; a string separates them by commas or blanks. */
  default_scopes: v.nullish(
    v.union([
      v.pipe(
        v.string(),
        v.transform((text) => text.split(/[\s,]+/).filter((scope) => scope !== "")),
      ),
      v.array(v.string()),
    ]),
  ),
  /** Largest age of a token in seconds. */
  max_token_age: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(31_536_000))),
  /** Tolerated clock difference in seconds, in place of the operator's. */
  clock_tolerance: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(60))),
  /** False: tokens are rejected. */
  jwt_enabled: v.nullish(Flag),
});
export type AuthSettings = v.InferOutput<typeof AuthSettings>;

/** Hosts whose keys sign tokens of many customers: any of them could sign in unless issuer and audience are checked. */
const sharedHosts = new Set([
  "www.googleapis.com",
  "accounts.google.com",
  "appleid.apple.com",
  "token.actions.githubusercontent.com",
  "login.microsoftonline.com",
  "login.microsoftonline.us",
  "login.partner.microsoftonline.cn",
  "login.windows.net",
  "sts.windows.net",
  "gitlab.com",
  "bitbucket.org",
  "api.bitbucket.org",
  "oidc.circleci.com",
  "app.terraform.io",
  "login.salesforce.com",
  "www.facebook.com",
  "limited.facebook.com",
  "id.twitch.tv",
  "slack.com",
  "api.line.me",
]);

/** Whether an address serves keys for several customers of an identity provider. */
export function isSharedKeySource(url: string): boolean {
  return URL.canParse(url) && sharedHosts.has(new URL(url).hostname);
}
