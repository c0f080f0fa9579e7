import * as v from "valibot";
import { Flag, Name, Text } from "./control.ts";
import { changesOf, closedObject, IsoTime, JsonObject, listOf } from "./objects.ts";

/** Body of `POST /playground-runs`. */
export const CreatePlaygroundRun = closedObject({
  name: Name,
  /** Everybody in the workspace opens it. */
  shared: v.optional(Flag),
  /** What the list shows of it. */
  models: v.optional(v.pipe(v.array(Text(255)), v.maxLength(8, "must have at most 8 models"))),
  /** Requests, and what was answered: stored as it is, without credentials. */
  contents: JsonObject,
});
export type CreatePlaygroundRun = v.InferOutput<typeof CreatePlaygroundRun>;

/** Body of `PUT /playground-runs/{id}`. */
export const UpdatePlaygroundRun = changesOf({ name: v.optional(Name), shared: v.optional(Flag) });
export type UpdatePlaygroundRun = v.InferOutput<typeof UpdatePlaygroundRun>;

/** Response of a change. */
export const PlaygroundRunReceipt = v.object({ id: v.string(), object: v.literal("playground_run") });

const listed = {
  id: v.string(),
  object: v.literal("playground_run"),
  workspace_id: v.string(),
  name: v.string(),
  models: v.array(v.string()),
  shared: v.boolean(),
  bytes: v.number(),
  /** The user, or else the key. */
  created_by: v.string(),
  created_at: IsoTime,
  last_updated_at: IsoTime,
  /** When its contents are removed; null: with the run. */
  expires_at: v.nullable(IsoTime),
};

export const ListedPlaygroundRun = v.object(listed);
export const PlaygroundRunList = listOf(ListedPlaygroundRun);

/** A run with what it holds. */
export const PlaygroundRun = v.object({ ...listed, contents: v.record(v.string(), v.unknown()) });
