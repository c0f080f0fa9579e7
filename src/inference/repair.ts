import { readFailure } from "../providers/failures.ts";
import type { ConversionOptions, OperationAdapter, OperationName, Operations } from "../providers/types.ts";

/** A call that may be made once more with another request. */
interface Repairable<Name extends OperationName> {
  adapter: OperationAdapter<Name>;
  request: Operations[Name]["request"];
  options: ConversionOptions;
}

/** How a call is made and its answer read. */
interface Means {
  /** Makes the call of the request the run holds. */
  send(): Promise<Response>;
  read(upstream: Response): Promise<Uint8Array>;
}

/**
 * Makes a call, and once more where the adapter knows how to ask so that the upstream does not refuse it. The run then holds
 * the request that was sent last.
 */
export async function sendRepaired<Name extends OperationName>(
  run: Repairable<Name>,
  { send, read }: Means,
): Promise<Response> {
  const upstream = await send();
  const { status } = upstream;
  if (run.adapter.repair === undefined || status < 400 || status > 499) return upstream;
  const bytes = await read(upstream);
  const { message } = readFailure(new TextDecoder().decode(bytes), status, upstream.headers);
  const repaired = run.adapter.repair(run.request, { status, message }, run.options);
  if (repaired !== undefined) {
    run.request = repaired;
    return send();
  }
  const headers = new Headers(upstream.headers);
  headers.delete("content-length");
  return new Response(new Uint8Array(bytes), { status, headers });
}
