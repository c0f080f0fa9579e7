import * as v from "valibot";
import { Name, Reference, Text } from "./control.ts";
import { changesOf, closedObject, IsoTime, listOf } from "./objects.ts";

/** Body of `POST /notes`. */
export const CreateNote = closedObject({ name: Name, content: Text(10_000, 0), workspace_id: v.nullish(Reference) });

/** Body of `PUT /notes/{id}`. */
export const UpdateNote = changesOf({ name: v.optional(Name), content: v.optional(Text(10_000, 0)) });

/** A note in responses. */
export const Note = v.object({
  id: v.string(),
  name: v.string(),
  content: v.string(),
  workspace_id: v.string(),
  created_at: IsoTime,
  last_updated_at: IsoTime,
  object: v.literal("note"),
});

/** Response of `GET /notes`. */
export const NoteList = listOf(Note);

/** Response of `POST /notes`. */
export const CreatedNote = v.object({ id: v.string() });
