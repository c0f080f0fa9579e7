import * as v from "valibot";
import { bearer } from "../core/headers.ts";
import { addressSetting, hostLabel, secretSetting } from "../core/settings.ts";
import { openaiCompatible } from "../openai-compatible/mod.ts";

/** Sunfish, an invented provider: each customer has a bay of its own, opened with a pass. */
export const sunfish = openaiCompatible({
  slug: "sunfish",
  baseUrl: ({ bay }) => `https://${bay}.sunfish.example/v1`,
  operations: ["chat"],
  settings: {
    prefix: "sunfish",
    requires: { integrations: ["sunfish_bay", "sunfish_pass"], credentials: [["sunfish_bay", "sunfish_pass"]] },
    schema: v.object({
      bay: v.optional(addressSetting(hostLabel("must be the name of a bay")), "open"),
      pass: v.optional(secretSetting(v.string())),
    }),
  },
  authenticate: (credential, { pass }) => ({
    ...bearer(credential),
    ...(pass !== undefined && { "sunfish-pass": pass }),
  }),
});
