import { defineResource } from "@/resources/define.ts";
import { changedFact } from "@/resources/options.ts";
import type { Field } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

const words = text.resources.notes;

const fields = [
  { name: "name", label: text.common.name, kind: "text", required: true },
  { name: "content", label: words.content, kind: "long", required: true },
] as const satisfies readonly Field[];

/** Notes of the workspace: `/v1/notes`. */
export const notes = defineResource({
  name: "notes",
  group: "build",
  icon: "label",
  text: { ...words, emptyHint: words.empty },
  workspace: "required",
  list: { path: "/v1/notes", paging: { page: "current_page", size: "page_size", first: 0 } },
  id: ({ id }) => id,
  title: ({ name }) => name,
  columns: [{ label: text.common.name, of: ({ name }) => name, track: "minmax(10rem, 1fr)" }],
  facts: [{ label: words.content, of: ({ content }) => content }, changedFact],
  read: "/v1/notes/{id}",
  create: { rows: ["POST /v1/notes"], made: ({ id }) => id, fields },
  update: { rows: ["PUT /v1/notes/{id}"], fields },
  remove: { row: "DELETE /v1/notes/{id}" },
});
