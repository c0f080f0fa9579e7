import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import { addressSetting } from "../core/settings.ts";
import { chat } from "./chat.ts";
import { complete } from "./complete.ts";
import { embed } from "./embed.ts";
import { generateImage } from "./images.ts";

const AccountId = v.optional(
  addressSetting(v.pipe(v.string(), v.regex(/^[A-Za-z0-9-]{1,63}$/, "must be 1 to 63 letters, digits or hyphens"))),
);

/** Cloudflare Workers AI (https://developers.cloudflare.com/api/resources/ai/methods/run/). */
export const workersAi = defineProvider({
  slug: "workers-ai",
  settings: {
    prefix: "workers-ai",
    requires: { integrations: ["workers_ai_account_id", "key"] },
    virtualKeys: { workers_ai_account_id: { field: "workersAiAccountId" } },
    schema: v.object({ account_id: AccountId }),
  },
  baseUrl({ account_id: account }) {
    const param = "x-gateway-workers-ai-account-id";
    if (account) return `https://api.cloudflare.com/client/v4/accounts/${account}/ai/run`;
    throw new InvalidRequestError(`Cannot call workers-ai: set ${param}`, { param, code: "invalid_header" });
  },
  authenticate: bearer,
  // the whole path is the model's name
  models: { inPath: (path) => path.replace(/^\//, "") },
  operations: { chat, complete, embed, generateImage },
});
