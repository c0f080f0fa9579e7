import type { RequestContext } from "../context.ts";
import { basePathOf } from "../endpoint/public-origin.ts";
import { redirectReply } from "../lib/page.ts";
import { withParameters } from "../lib/redirects.ts";
import type { Reply } from "../lib/reply.ts";
import { requireConsole } from "./session.ts";

/** Where the console asks an invited person to accept. */
const acceptPage = "/console/accept-invite";

/** `GET /invites/{inviteId}`: the link that an invited person got leads to the page that accepts the invite. */
export function openInvite(context: RequestContext): Reply {
  requireConsole(context);
  const { inviteId: invite } = context.params;
  return redirectReply(
    withParameters(basePathOf(context) + acceptPage, {
      invite,
      token: context.url.searchParams.get("token") ?? undefined,
    }),
  );
}
