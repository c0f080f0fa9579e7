import { InvalidRequestError } from "../errors.ts";
import { type HeaderMap, hopHeader } from "../lib/headers.ts";

const idForm = /^[A-Za-z0-9_-]{16}$/;
/** How often a request may return to an installation it has passed. */
const maxTurns = 2;
/** Most gateways on the way. */
const maxHops = 16;

/** Ids of the gateways that a request has passed; malformed entries are dropped. */
function readHops(headers: HeaderMap): string[] {
  const text = headers.get(hopHeader);
  if (text === undefined) return [];
  return text
    .split(",")
    .map((id) => id.trim())
    .filter((id) => idForm.test(id));
}

/**
 * Stops requests that loop back to their own gateway. Only addresses named in data get the header: the fixed addresses
 * of providers never lead back.
 */
export class Hops {
  readonly #id: string;

  /** @param id 16 base64url characters, secret and shared by all processes of an installation. */
  constructor(id: string) {
    this.#id = id;
  }

  /** Header value for a request on behalf of another. */
  next(headers: HeaderMap): string {
    if (headers.get(hopHeader) === undefined) return this.#id;
    return [...readHops(headers), this.#id].slice(-maxHops).join(", ");
  }

  /**
   * Rejects a request that came back too often.
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
