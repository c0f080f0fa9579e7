import { isObject, parseJson } from "../../lib/json.ts";
import type { Fields } from "../document.ts";
import { namesOf, toFlag } from "../fields.ts";
import { defineKind, type Kind, placeQuery, type Reader, type Wanted, type Writer } from "../kind.ts";

/** Folders of prompts. */
export const collections: Kind = defineKind({
  section: "collections",
  one: "a collection",
  path: "/collections",
  by: "slug",
  fixed: ["parent_collection_id"],
  defaults: { parent_collection_id: null },
  isOwn: ({ is_default }) => !toFlag(is_default),
  toShown: (shown, { names }) => ({ ...shown, parent_collection_id: namesOf(shown.parent_collection_id, names) }),
});

/** The collection of a record; null for the default one, which has the id of the workspace. */
function collectionOf({ collection_id: id }: Fields, { place, names }: Reader): unknown {
  return id === place.id ? null : namesOf(id, names);
}

/** Makes the newest version of a record the default. */
async function publish({ api, place }: Writer, path: string): Promise<void> {
  const query = new URLSearchParams({ ...placeQuery(place), version: "latest" });
  const shown = await api({ method: "GET", path: `${path}?${query}` });
  const version = shown.prompt_version ?? shown.version;
  await api({ method: "PUT", path: `${path}/makeDefault`, body: { version, ...placeQuery(place) } });
}

const readOne = ({ api, place }: Reader, path: string): Promise<Fields> =>
  api({ method: "GET", path: `${path}?${new URLSearchParams(placeQuery(place))}` });

const afterChange =
  (base: string) =>
  async (writer: Writer, { name }: Wanted, stored: object | undefined): Promise<void> => {
    if (stored) await publish(writer, `${base}/${name}`);
  };

/** Snippets of prompts. */
export const partials: Kind = defineKind({
  section: "partials",
  one: "a partial",
  path: "/prompts/partials",
  by: "slug",
  fixed: ["collection_id"],
  defaults: { collection_id: null, string: null },
  readMore: (reader, { slug }) => readOne(reader, `/prompts/partials/${slug}`),
  toShown: (shown, reader) => ({ ...shown, collection_id: collectionOf(shown, reader) }),
  toNormal: (fields) => ({ ...fields, string: toTemplate(fields.string) }),
  toBody: (fields) => ({ ...fields, string: toText(fields.string) }),
  after: afterChange("/prompts/partials"),
});

/** A template as it is compared: messages as a list. */
function toTemplate(value: unknown): unknown {
  const messages = typeof value === "string" && /^\s*\[/.test(value) ? parseJson(value) : undefined;
  return Array.isArray(messages) && messages.every(isObject) ? messages : value;
}

/** A template as a body takes it. */
const toText = (value: unknown): unknown => (typeof value === "string" ? value : JSON.stringify(value));

/** Saved prompts. */
export const prompts: Kind = defineKind({
  section: "prompts",
  one: "a prompt",
  path: "/prompts",
  by: "slug",
  defaults: {
    collection_id: null,
    string: null,
    parameters: {},
    model: null,
    virtual_key: "",
    functions: null,
    tools: null,
    tool_choice: null,
    template_metadata: null,
    is_raw_template: false,
  },
  readMore: (reader, { slug }) => readOne(reader, `/prompts/${slug}`),
  toShown: (shown, reader) => ({ ...shown, collection_id: collectionOf(shown, reader) }),
  toNormal: (fields) => ({
    ...fields,
    string: toTemplate(fields.string),
    virtual_key: String(fields.virtual_key).replace(/^@/, ""),
    is_raw_template: toFlag(fields.is_raw_template),
  }),
  // the default collection has the id of the workspace
  toBody: ({ collection_id, ...fields }, { place }) => ({
    ...fields,
    string: toText(fields.string),
    collection_id: collection_id ?? place.id,
  }),
  after: afterChange("/prompts"),
});
