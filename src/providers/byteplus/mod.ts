import * as v from "valibot";
import { hostLabel, placeSetting } from "../core/settings.ts";
import { openaiCompatible } from "../openai-compatible/mod.ts";
import { withoutAdaptive } from "../openai-compatible/vendors/adaptations.ts";
import { gptImageMembers } from "../openai-compatible/vendors/images.ts";
import { embed } from "./embed.ts";

const HostLabel = hostLabel("must be part of a host name");

/** BytePlus ModelArk (https://docs.byteplus.com/en/docs/ModelArk/1494384); models are named by their endpoints. */
export const byteplus = openaiCompatible({
  slug: "byteplus",
  baseUrl: ({ region }) => `https://ark.${region}.bytepluses.com/api/v3`,
  operations: ["chat", "embed", "responses", "generateImage"],
  // https://docs.byteplus.com/en/docs/ModelArk/1541523
  media: { generateImage: { unsupported: [...gptImageMembers, "n"] } },
  settings: { prefix: "byteplus", schema: v.object({ region: v.optional(placeSetting(HostLabel), "ap-southeast") }) },
  chat: { thinking: true, adapt: withoutAdaptive },
  embedAdapter: embed,
  answers: {},
});
