import { isJsonObject, type JsonObject } from "@/lib/json.ts";
import { toBody } from "@/resources/body.ts";
import type { Field } from "@/resources/types.ts";

/** Members that the routes of settings answer with and do not take. */
const fixed = new Set(["id", "slug", "object", "created_at", "last_updated_at", "status", "organisation_id"]);

/** The settings that their route takes. */
export function toEditable(record: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !fixed.has(name)));
}

/** Objects that the API replaces: a change of one of their members must send the others too. */
const replaced = ["fallback_price", "semantic_cache", "oidc"];

/** Makes what the form sends: the changes; throws if a field does not parse. */
export function toSent(fields: readonly Field[], values: JsonObject, stored: JsonObject): () => JsonObject {
  return () => {
    const changes = toBody(fields, values, stored);
    const whole = replaced.flatMap((name) => {
      const change = changes[name];
      if (!isJsonObject(change)) return [];
      const before = stored[name];
      const members = Object.entries({ ...(isJsonObject(before) && before), ...change }).filter(
        ([, value]) => value !== null,
      );
      return [[name, members.length === 0 ? null : Object.fromEntries(members)] as const];
    });
    return { ...changes, ...Object.fromEntries(whole) };
  };
}

/** A body in which objects that the API replaces say of each member that is stored whether it goes. */
export function withAbsent(body: JsonObject, stored: JsonObject): JsonObject {
  const whole = replaced.flatMap((name) => {
    const [given, before] = [body[name], stored[name]];
    if (!isJsonObject(given) || !isJsonObject(before)) return [];
    return [[name, { ...Object.fromEntries(Object.keys(before).map((member) => [member, null])), ...given }] as const];
  });
  return { ...body, ...Object.fromEntries(whole) };
}

/** The stored settings with changes, also of members of members. */
export function withChanges(stored: JsonObject, changes: JsonObject): JsonObject {
  const changed = Object.entries(changes).map(([name, value]) => {
    const before = stored[name];
    const isPart = isJsonObject(value) && isJsonObject(before) && !replaced.includes(name);
    return [name, isPart ? { ...before, ...value } : value] as const;
  });
  return { ...stored, ...Object.fromEntries(changed) };
}

/** Members whose value differs from the stored one: the others stay as they are. */
export function changedMembers(next: JsonObject, stored: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(next).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(stored[name])),
  );
}
