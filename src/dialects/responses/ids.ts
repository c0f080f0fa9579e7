/** Behind the prefix of every id the gateway makes. */
const mark = "gw_";

/** Id of the answer to a request. */
export function toResponseId(id: string): string {
  return `resp_${mark}${id}`;
}

/** The id of a response less what marks it as the gateway's own. */
export function nameOfResponse(id: string): string {
  return id.slice(toResponseId("").length);
}

/** Whether a response is one of the gateway's own, and not a provider's. */
export function isOwnResponseId(id: string): boolean {
  return id.startsWith(toResponseId(""));
}

/** Id of an item of an answer, or of its input. */
export function toItemId(prefix: string, id: string, place: string | number): string {
  return `${prefix}_${mark}${id}_${place}`;
}

/** Whether the gateway made the id of an item. */
export function isOwnItemId(id: unknown): boolean {
  return typeof id === "string" && /^[a-z]{2,4}_gw_/.test(id);
}
