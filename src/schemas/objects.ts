import * as v from "valibot";
import { isObject } from "../lib/json.ts";

/** An object; put before `v.record`, which takes lists too. */
export const JsonObject = v.custom<Record<string, unknown>>(isObject, "must be an object");

/** An object with these members and any others. Unlike `v.looseObject` it takes no lists, which have members too. */
export function plainObject<Entries extends v.ObjectEntries>(entries: Entries) {
  return v.pipe(JsonObject, v.looseObject(entries));
}
