import { InvalidRequestError } from "../errors.ts";
import { type HeaderMap, hopHeader } from "../lib/headers.ts";

const idForm = /^[A-Za-z0-9_-]{16}$/;
/** Times a request may come back to the installation it passed. */
const maxTurns = 2;
/** Most gateways on the way. */
const maxHops = 16;

/** Ids of the gateways a request came through; what else the header holds is dropped. */
function readHops(headers: HeaderMap): string[] {
  const text = headers.get(hopHeader);
  if (text === undefined) return [];
  return text
    .split(",")
    .map((id) => id.trim())
    .filter((id) => idForm.test(id));
}

/**
 * Ends requests that lead back to their own gateway again and again. Only addresses that data named get the header: the fixed
 * ones of providers never lead back.
 */
export class Hops {
  readonly #id: string;

  /** @param id 16 characters of base64url that all processes of an installation share and nobody can guess. */
  constructor(id: string) {
    this.#id = id;
  }

  /** Value of the header for a request that is made on behalf of another. */
  next(headers: HeaderMap): string {
    return [...readHops(headers), this.#id].slice(-maxHops).join(", ");
  }

  /**
   * Refuses a request that came back too often.
   *
   * @throws {InvalidRequestError}
   */
  requireOpenEnd(headers: HeaderMap): void {
    const hops = readHops(headers);
    if (hops.length < maxHops && hops.filter((id) => id === this.#id).length <= maxTurns) return;
    throw new InvalidRequestError(
      "Cannot serve this request: it leads back to this gateway again and again; call the provider itself, not the gateway",
      { code: "request_loop", param: hopHeader },
    );
  }
}
