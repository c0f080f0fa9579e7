import { readFailure } from "../providers/failures.ts";
import type { CallFailure } from "../providers/types.ts";

/** How a call is made, its answer read, and what is done where it was refused. */
interface RepairedCall {
  send(): Promise<Response>;
  /** Bytes of an answer that is read whole. */
  read(upstream: Response): Promise<Uint8Array>;
  /** Prepares another request for the next `send`; false where there is none. */
  repair(failure: CallFailure): boolean;
}

/** Makes a call, and once more where it is refused with a 4xx that another request avoids. */
export async function sendRepaired({ send, read, repair }: RepairedCall): Promise<Response> {
  const upstream = await send();
  const { status } = upstream;
  if (status < 400 || status > 499) return upstream;
  const bytes = await read(upstream);
  const { message } = readFailure(new TextDecoder().decode(bytes), status, upstream.headers);
  if (repair({ status, message })) return send();
  const headers = new Headers(upstream.headers);
  headers.delete("content-length");
  return new Response(new Uint8Array(bytes), { status, headers });
}
