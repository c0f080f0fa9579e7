import type { NoteRow } from "../db/tables/notes.ts";
import type { AdminEndpoint } from "../endpoint.ts";
import { CreatedNote, CreateNote, Note, NoteList, UpdateNote } from "../schemas/notes.ts";
import { NoContent } from "../schemas/objects.ts";
import { defineRecord } from "./core/record.ts";
import { shownBy } from "./core/shown-row.ts";

const toNote = shownBy(Note, (_row: NoteRow) => ({}));

const notes = defineRecord({
  tag: "Notes",
  path: "/v1/notes",
  words: { one: "a note", many: "notes" },
  store: "notes",
  audit: "notes",
  access: "prompts",
  hasIdsOnly: true,
});

/** Endpoints of notes. */
export const noteEndpoints: readonly AdminEndpoint[] = [
  notes.list({ response: NoteList, search: ["name"], show: (rows) => rows.map(toNote) }),
  notes.create({
    body: CreateNote,
    response: CreatedNote,
    decide: async ({ body: { name, content } }, { id }) => ({ answer: { id }, columns: { name, content } }),
  }),
  notes.show({ response: Note, show: ({ row }) => toNote(row) }),
  notes.change({
    body: UpdateNote,
    response: NoContent,
    decide: async ({ body: { name, content } }) => ({ answer: {}, columns: { name, content } }),
  }),
  notes.remove(),
];
