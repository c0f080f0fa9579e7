import type { Resource } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

const words = text.configs;

/** Saved configs: the list follows from this, the page of one config is its own. */
export const configs: Resource = {
  name: "configs",
  group: "build",
  icon: "configs",
  text: {
    title: words.title,
    one: words.one,
    create: words.create,
    about: words.about,
    emptyHint: words.empty,
    emptyCommand: `curl ${location.origin}/v1/configs -H "x-gateway-api-key: $GATEWAY_KEY" \\
  -H "content-type: application/json" \\
  -d '{"name": "First config", "config": {"strategy": {"mode": "fallback"}, "targets": [{"provider": "echo"}]}}'`,
  },
  workspace: "required",
  list: { path: "/v1/configs", paging: { page: "current_page", size: "page_size", first: 0 } },
  id: "slug",
  title: "name",
  columns: [
    { label: text.common.name, path: "name", track: "minmax(10rem, 2fr)" },
    { label: words.slug, path: "slug", kind: "code", track: "minmax(8rem, 1fr)", wide: true },
    { label: words.isDefault, path: "is_default", kind: "boolean", track: "6rem", wide: true },
    { label: text.common.changed, path: "last_updated_at", kind: "ago", track: "7rem" },
  ],
  read: "/v1/configs/{slug}",
  create: { rows: ["POST /v1/configs"], fields: [] },
};
