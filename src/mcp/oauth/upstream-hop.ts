import type { RequestContext } from "../../context.ts";
import type { Reply } from "../../lib/reply.ts";
import type { Browser, Session } from "./browser.ts";
import type { Flow } from "./flow.ts";
import type { FoundServer } from "./servers.ts";

/** Sends the browser to the authorization server of an upstream, if the user has no account there yet. */
export async function upstreamHop(
  _context: RequestContext,
  _flow: Flow,
  _parts: { readonly session: Session; readonly target: FoundServer; readonly browser: Browser },
): Promise<Reply | undefined> {
  return undefined;
}
