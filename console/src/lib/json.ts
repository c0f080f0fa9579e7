// JSON that the OpenAPI document leaves open: bodies of clients, responses of models, JSON schemas, stored views.

/** An object of JSON whose members are not known. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value that should be an object; an empty one where it is none. */
export const asObject = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

/** The objects of a list; none where the value is no list. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** A value as text; empty where it is missing or null. */
export function textOf(value: unknown): string {
  return value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
}
