import * as v from "valibot";
import type { Principal } from "../auth/principal.ts";
import { clientAddressOf, type RequestContext } from "../context.ts";
import type { SessionHolder } from "../control/console/sessions.ts";
import { readJsonBody, requireBody } from "../endpoint/body.ts";
import { AuthenticationError, GatewayError, RateLimitError } from "../errors.ts";
import { jsonReply, type Reply } from "../lib/reply.ts";
import { auditFailure, auditSession } from "./audit.ts";
import { describeSession } from "./describe.ts";
import { requireSameOrigin } from "./origin.ts";
import { requireCallingSession, requireConsole, requireSession, sessionCookie } from "./session.ts";

/** Largest body of a sign-in, in bytes. */
const maxBody = 4_096;

/** Body of a sign-in with a key. */
export const SignInRequest = v.strictObject({
  /** A key of the gateway: of an organisation, a workspace or a user. */
  key: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(512)),
});

/** Who acts, as the audit log names it. */
function actorOf({ userId, keyId }: Pick<Principal, "userId" | "keyId">) {
  return { actor: userId ?? keyId, actorType: userId === null ? "api_key" : "user" } as const;
}

/** Refuses an address that signed in, or failed to, too often. @throws {RateLimitError} */
export function limitSignIns(context: RequestContext): void {
  context.services.oauth.limits.requireSignIn(clientAddressOf(context, context.services));
}

/** Begins a session: the reply of a sign-in sets its cookie. A session that the browser had is not used again. */
export async function beginSession(
  holder: SessionHolder,
  context: RequestContext,
  { principal, method }: { principal: Pick<Principal, "userId" | "keyId" | "workspaceId">; method: "key" | "oidc" },
) {
  const { session, sealed } = await requireConsole(context).sessions.create(holder);
  await auditSession(
    {
      organisationId: holder.organisationId,
      workspaceId: principal.workspaceId,
      action: "sign_in",
      ...actorOf(principal),
      sessionId: session.id,
      status: 200,
      details: { method },
    },
    context,
  );
  return { session, cookie: sessionCookie(context, sealed) };
}

/** The caller of the key that a user signs in with. */
async function authenticate(key: string, context: RequestContext): Promise<Principal> {
  const { authenticator } = context.services;
  const principal = await authenticator.authenticate(key, () => clientAddressOf(context, context.services));
  if (principal.person === undefined) return principal;
  // it ends sooner than a session
  throw new AuthenticationError("Cannot sign in with a token of an identity provider: use single sign-on or a key", {
    code: "invalid_api_key",
  });
}

/** `POST /console/session` */
export async function signIn(context: RequestContext): Promise<Reply> {
  requireSameOrigin(context);
  limitSignIns(context);
  const { value } = await readJsonBody(context, maxBody, context.services);
  const { key } = requireBody(SignInRequest, value);
  let principal: Principal;
  try {
    principal = await authenticate(key, context);
  } catch (error) {
    const isVerdict = error instanceof GatewayError && error.status < 500 && !(error instanceof RateLimitError);
    if (isVerdict)
      await auditFailure({ status: error.status, details: { method: "key", reason: error.message } }, context);
    throw error;
  }
  const { organisationId, keyId } = principal;
  const digest = await context.services.keyMac(key);
  const holder = { kind: "key", organisationId, keyId, digest } as const;
  const { session, cookie } = await beginSession(holder, context, { principal, method: "key" });
  const reply = jsonReply(await describeSession(session, principal, context));
  reply.headers["set-cookie"] = cookie;
  return reply;
}

/** `GET /console/session` */
export async function showSession(context: RequestContext): Promise<Reply> {
  const { session, principal } = await requireSession(context);
  return jsonReply(await describeSession(session, principal, context));
}

/** Reply to a sign-out. */
export const SignedOut = v.object({ object: v.literal("session"), deleted: v.literal(true) });

/** `DELETE /console/session` */
export async function signOut(context: RequestContext): Promise<Reply> {
  const { session, principal } = await requireCallingSession(context);
  const { sessions } = requireConsole(context);
  await auditSession(
    {
      organisationId: principal.organisationId,
      workspaceId: principal.workspaceId,
      action: "sign_out",
      ...actorOf(principal),
      sessionId: session.id,
      status: 200,
      details: {},
    },
    context,
    sessions.ending(session),
  );
  const reply = jsonReply({ object: "session", deleted: true });
  reply.headers["set-cookie"] = sessionCookie(context, "");
  return reply;
}
