import { defineResource } from "@/resources/define.ts";
import type { Option, Resource } from "@/resources/types.ts";
import { text } from "@/text/text.ts";
import { labelsOf } from "./labels-of.tsx";

const words = text.prompts;

/** Saved prompts: the list follows from this, the page of one prompt is its own. */
export function createPrompts(collections: readonly Option[]): Resource {
  const names = new Map(collections.map(({ value, label }) => [value, label]));
  return defineResource({
    name: "prompts",
    text: {
      one: words.one,
      create: words.create,
      about: words.about,
      emptyHint: words.empty,
    },
    workspace: "required",
    list: {
      path: "/v1/prompts",
      paging: { page: "current_page", size: "page_size", first: 0 },
      filters: [{ name: "collection_id", label: words.collection, options: collections }],
    },
    id: ({ slug }) => slug,
    title: ({ name }) => name,
    columns: [
      { label: text.common.name, of: ({ name }) => name, track: "minmax(9rem, 2fr)" },
      {
        label: words.collection,
        of: ({ collection_id }) => collection_id,
        track: "minmax(7rem, 1fr)",
        wide: true,
        render: ({ collection_id: id }) => names.get(id) ?? "",
      },
      { label: words.labels, of: ({ prompt_labels }) => prompt_labels, track: "minmax(8rem, 1.5fr)", render: labelsOf },
      { label: words.model, of: ({ model }) => model, kind: "code", track: "minmax(7rem, 1fr)", wide: true },
      { label: words.version, of: ({ prompt_version }) => prompt_version, kind: "number", track: "5rem", wide: true },
      { label: text.common.changed, of: ({ last_updated_at }) => last_updated_at, kind: "ago", track: "7rem" },
    ],
    read: "/v1/prompts/{id}",
    create: { rows: ["POST /v1/prompts"], fields: [] },
  });
}
