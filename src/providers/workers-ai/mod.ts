import * as v from "valibot";
import { bearer } from "../auth/headers.ts";
import { defineProvider } from "../define.ts";
import { addressSetting } from "../settings.ts";
import { chat } from "./chat.ts";
import { complete } from "./complete.ts";
import { embed } from "./embed.ts";
import { generateImage } from "./images.ts";

const AccountId = v.pipe(
  v.string("is required: it names the account"),
  v.regex(/^[A-Za-z0-9-]{1,63}$/, "must be 1 to 63 letters, digits or hyphens"),
);

/** Cloudflare Workers AI (https://developers.cloudflare.com/api/resources/ai/methods/run/). */
export const workersAi = defineProvider({
  slug: "workers-ai",
  settings: { prefix: "workers-ai", schema: v.object({ account_id: addressSetting(AccountId) }) },
  baseUrl: ({ account_id }) => `https://api.cloudflare.com/client/v4/accounts/${account_id}/ai/run`,
  authenticate: bearer,
  operations: { chat, complete, embed, generateImage },
});
