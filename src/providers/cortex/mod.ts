import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import { addressSetting } from "../core/settings.ts";
import { chat, complete } from "./chat.ts";
import { embed } from "./embed.ts";

const settings = v.object({
  account: v.optional(
    addressSetting(
      v.pipe(
        v.string(),
        v.regex(/^[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63}){0,3}$/, "must be 1 to 4 host labels joined with dots"),
        // host names have no underscores: account names use hyphens instead
        v.transform((account) => account.toLowerCase().replaceAll("_", "-")),
      ),
    ),
  ),
  token_type: v.optional(
    v.picklist(
      ["KEYPAIR_JWT", "OAUTH", "PROGRAMMATIC_ACCESS_TOKEN"],
      "must be KEYPAIR_JWT, OAUTH or PROGRAMMATIC_ACCESS_TOKEN",
    ),
    "KEYPAIR_JWT",
  ),
});

/** Snowflake Cortex (https://docs.snowflake.com/en/developer-guide/snowflake-rest-api/authentication). */
export const cortex = defineProvider({
  slug: "cortex",
  settings: { prefix: "snowflake", requires: { integrations: ["snowflake_account", "key"] }, schema: settings },
  baseUrl({ account }) {
    const param = "x-gateway-snowflake-account";
    if (account) return `https://${account}.snowflakecomputing.com/api/v2`;
    throw new InvalidRequestError(`Cannot call cortex: set ${param}`, { param, code: "invalid_header" });
  },
  authenticate: (credential, { token_type: type }) =>
    credential === undefined ? {} : { ...bearer(credential), "x-snowflake-authorization-token-type": type },
  operations: { chat, complete, embed },
});
