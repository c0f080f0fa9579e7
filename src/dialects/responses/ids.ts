/** Follows the prefix of every id that the gateway generates. */
const mark = "gw_";

/** Id of the response to a request. */
export function toResponseId(id: string): string {
  return `resp_${mark}${id}`;
}

/** The id of a response without the gateway's mark. */
export function nameOfResponse(id: string): string {
  return id.slice(toResponseId("").length);
}

/** Whether a response id is the gateway's and not a provider's. */
export function isOwnResponseId(id: string): boolean {
  return id.startsWith(toResponseId(""));
}

/** Id of an item of a response or of its input. */
export function toItemId(prefix: string, id: string, place: string | number): string {
  return `${prefix}_${mark}${id}_${place}`;
}

/** Whether the gateway generated an item id. */
export function isOwnItemId(id: unknown): boolean {
  return typeof id === "string" && /^[a-z]{2,4}_gw_/.test(id);
}
