import { gatewayUrl } from "@/api/base.ts";
import { defineResource } from "@/resources/define.ts";
import { text } from "@/text/text.ts";

const words = text.configs;

/** Saved configs: the list follows from this, the page of one config is its own. */
export const configs = defineResource({
  name: "configs",
  text: {
    one: words.one,
    create: words.create,
    about: words.about,
    emptyHint: words.empty,
    emptyCommand: `curl ${gatewayUrl}/v1/configs -H "x-gateway-api-key: $GATEWAY_KEY" \\
  -H "content-type: application/json" \\
  -d '{"name": "First config", "config": {"strategy": {"mode": "fallback"}, "targets": [{"provider": "echo"}]}}'`,
  },
  workspace: "required",
  list: { path: "/v1/configs", paging: { page: "current_page", size: "page_size", first: 0 } },
  id: ({ slug }) => slug,
  title: ({ name }) => name,
  columns: [
    { label: text.common.name, of: ({ name }) => name, track: "minmax(10rem, 2fr)" },
    { label: words.slug, of: ({ slug }) => slug, kind: "id", track: "minmax(8rem, 1fr)", wide: true },
    { label: words.isDefault, of: ({ is_default }) => is_default, kind: "boolean", track: "6rem", wide: true },
    { label: text.common.changed, of: ({ last_updated_at }) => last_updated_at, kind: "ago", track: "7rem" },
  ],
  read: "/v1/configs/{slug}",
  create: { rows: ["POST /v1/configs"], fields: [] },
});
