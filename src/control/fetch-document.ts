import type { AddressGuard } from "../lib/address.ts";
import { readBytes } from "../lib/body.ts";
import { Budget } from "../lib/budget.ts";
import type { Outbound } from "../lib/outbound.ts";

/** Bounds of a document's structure. */
const structure = { depth: 16, values: 20_000, keys: 1_000 };

/** A JSON document and the headers it came with. */
interface FetchedDocument {
  readonly document: unknown;
  readonly headers: Headers;
}

/** Fetches a JSON document from an address that data names. */
export type FetchDocument = (
  url: string,
  bounds: { readonly maxBytes: number; readonly timeoutMs: number },
) => Promise<FetchedDocument>;

/** A document came, but not with status 200. */
class DocumentStatusError extends Error {
  override readonly name = "DocumentStatusError";
  readonly status: number;
  constructor(status: number) {
    super(`Cannot read the document: the response has status ${status}`);
    this.status = status;
  }
}

/** Creates a function that fetches with address checks and limits, over TLS unless the host is trusted. */
export function createDocumentFetcher({ outbound, guard }: { outbound: Outbound; guard: AddressGuard }): FetchDocument {
  return async (url, { maxBytes, timeoutMs }) => {
    const target = guard.checkTarget(url);
    if (target.protocol !== "https:" && !guard.isTrusted(target)) {
      throw new TypeError("Cannot read a document over plain HTTP: anyone on the network could replace it");
    }
    const response = await outbound(url, {
      origin: "influenced",
      method: "GET",
      signal: AbortSignal.timeout(timeoutMs),
      headers: { accept: "application/json, application/jwk-set+json" },
    });
    if (response.status !== 200) {
      response.body?.cancel().catch(() => {});
      throw new DocumentStatusError(response.status);
    }
    const bytes = await readBytes(response, { bytes: maxBytes, totalMs: timeoutMs, silenceMs: timeoutMs });
    const budget = new Budget({ source: "upstream", what: "the document", bytes: maxBytes, ...structure });
    return { document: budget.json(bytes), headers: response.headers };
  };
}
