import * as v from "valibot";
import { LogRow } from "./logs.ts";
import { JsonObject } from "./objects.ts";

/** Body of `POST /logs/{id}/replay`. */
export const ReplayRequest = v.pipe(
  JsonObject,
  v.strictObject({
    /** Slug of a saved config, or a config: routes the replay instead of what the original request named. */
    config: v.optional(
      v.union(
        [v.pipe(v.string(), v.minLength(1)), v.pipe(JsonObject, v.record(v.string(), v.unknown()))],
        "must be a config or the slug of a saved one",
      ),
    ),
  }),
);
export type ReplayRequest = v.InferOutput<typeof ReplayRequest>;

/** Response of `POST /logs/{id}/replay`. */
export const Replay = v.object({
  object: v.literal("replay"),
  original: LogRow,
  replay: LogRow,
  /** Bodies of both responses: JSON as a value, a stream as the response it adds up to, null where it is not text. */
  answers: v.object({ original: v.unknown(), replay: v.unknown() }),
});
