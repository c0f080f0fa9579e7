import * as v from "valibot";
import { bearer } from "../core/headers.ts";
import { secretSetting } from "../core/settings.ts";
import { openaiCompatible } from "../openai-compatible/mod.ts";

/** Modal (https://modal.com/docs/guide/webhook-proxy-auth): custom servers, protected by a pair of proxy tokens. */
export const modal = openaiCompatible({
  slug: "modal",
  baseUrl: "https://api.modal.com/v1",
  settings: {
    prefix: "modal",
    plain: ["modal-key", "modal-secret"],
    schema: v.object({ key: v.optional(secretSetting(v.string())), secret: v.optional(secretSetting(v.string())) }),
  },
  authenticate: (credential, { key, secret }) => ({
    ...bearer(credential),
    ...(key !== undefined && { "modal-key": key }),
    ...(secret !== undefined && { "modal-secret": secret }),
  }),
});
