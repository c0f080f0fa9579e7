import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { sha256Hex } from "../../lib/hash.ts";
import { plainIssues } from "../../lib/issues.ts";
import { parseJson } from "../../lib/json.ts";
import { bearer } from "./headers.ts";
import { requestToken, type TokenTools } from "./token-request.ts";

const text = v.pipe(v.string("must be a string"), v.minLength(1, "must not be empty"), v.maxLength(16_384));

/** An OAuth client with the client credentials grant (RFC 6749, section 4.4). */
const OauthSettings = v.object(
  {
    token_url: v.pipe(text, v.regex(/^https?:\/\//, "must start with http:// or https://")),
    client_id: text,
    client_secret: text,
    scope: v.nullish(v.string("must be a string")),
    audience: v.nullish(v.string("must be a string")),
    /** How the client authenticates: in a header or in the form. */
    auth_method: v.nullish(v.picklist(["basic", "post"], "must be basic or post")),
  },
  "must be a JSON object with token_url, client_id and client_secret",
);
type OauthSettings = v.InferOutput<typeof OauthSettings>;

/**
 * The settings of an OAuth client from their JSON text.
 *
 * @throws {InvalidRequestError} Names the invalid field, never its value.
 */
export function readOauthSettings(json: string): OauthSettings {
  const result = v.safeParse(OauthSettings, parseJson(json), plainIssues);
  if (result.success) return result.output;
  const [issue] = result.issues;
  const param = ["oauth", ...(issue.path ?? []).map(({ key }) => String(key))].join(".");
  const problem = issue.received === "undefined" && issue.path ? "must be given" : issue.message;
  throw new InvalidRequestError(`Cannot use ${param}: ${problem}`, { param, code: "invalid_oauth" });
}

/** A string encoded as `application/x-www-form-urlencoded` (RFC 6749, appendix B). */
export function formEncode(value: string): string {
  return new URLSearchParams({ "": value }).toString().slice(1);
}

function fieldsOf({ client_id, client_secret, scope, audience, auth_method }: OauthSettings): Record<string, string> {
  return {
    grant_type: "client_credentials",
    ...(auth_method === "post" && { client_id, client_secret }),
    ...(scope && { scope }),
    ...(audience && { audience }),
  };
}

/**
 * Authorises a call with the token of an OAuth client, from the cache while it is valid.
 *
 * @param origin `fixed` only where the token URL is set by the gateway.
 * @throws {UpstreamError} As `requestToken`.
 */
export async function authorizeByOauth(
  settings: OauthSettings,
  tools: TokenTools,
  origin: "fixed" | "influenced" = "influenced",
): Promise<Record<string, string>> {
  const { token_url: url, client_id: id, client_secret: secret, scope, audience, auth_method: method } = settings;
  const basic = `Basic ${btoa(`${formEncode(id)}:${formEncode(secret)}`)}`;
  const key = ["oauth", url, id, await sha256Hex(secret), scope ?? "", audience ?? "", method ?? "basic"];
  const token = await tools.tokens.get([...tools.tenant, ...key], () =>
    requestToken(
      {
        url,
        origin,
        fields: fieldsOf(settings),
        param: "oauth.token_url",
        ...(method !== "post" && { headers: { authorization: basic } }),
      },
      tools,
    ),
  );
  return bearer(token);
}
