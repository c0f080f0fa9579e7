import type { RequestContext } from "../../context.ts";
import { toBase64Url } from "../../lib/base64.ts";
import { randomBytes, sha256Hex } from "../../lib/hash.ts";
import { redirectReply } from "../../lib/page.ts";
import { withParameters } from "../../lib/redirects.ts";
import type { Reply } from "../../lib/reply.ts";
import { issuerOf } from "./addresses.ts";
import type { Session } from "./browser.ts";
import type { ClientFlow } from "./flow.ts";
import type { FoundServer } from "./servers.ts";

/** Life of a code. */
const codeMs = 60_000;

/** The answer to a client: parameters for its address, with the issuer (RFC 9207). */
export function clientReply(
  context: RequestContext,
  { redirectUri, state }: Pick<ClientFlow, "redirectUri" | "state">,
  parameters: Readonly<Record<string, string>>,
): Reply {
  const all = { ...parameters, state: state ?? undefined, iss: issuerOf(context) };
  return redirectReply(withParameters(redirectUri, all));
}

/** Answers a client with a code. */
export async function codeReply(
  context: RequestContext,
  flow: ClientFlow,
  { session, target }: { session: Session; target: FoundServer },
): Promise<Reply> {
  const { oauth, clock } = context.services;
  // the user consented to it: the token endpoint finds it again
  await oauth.clients.keep(flow.clientId);
  const code = toBase64Url(randomBytes(32));
  const now = clock.now();
  const { organisationId, userId, keyId, keyVersion } = session;
  const { clientId, resource, scope, redirectUri, codeChallenge } = flow;
  await oauth.store.insertCode({
    digest: await sha256Hex(code),
    organisationId,
    workspaceId: target.workspaceId,
    userId,
    keyId,
    keyVersion,
    clientId,
    serverId: target.server.id,
    resource,
    scope,
    redirectUri,
    codeChallenge,
    familyId: null,
    expiresAt: now + codeMs,
    createdAt: now,
  });
  return clientReply(context, flow, { code });
}
