import { isJsonObject } from "@/lib/json.ts";

/** The value of a member by the name of its field: a name, or the dotted path of a member in an object. */
export function memberAt(value: unknown, name: string): unknown {
  const [first = "", ...rest] = name.split(".");
  const member = isJsonObject(value) ? value[first] : undefined;
  return rest.length === 0 ? member : memberAt(member, rest.join("."));
}
