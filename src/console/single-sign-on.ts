import * as v from "valibot";
import type { RequestContext } from "../context.ts";
import { basePathOf, cookieNameOf, requireOrigin } from "../endpoint/public-origin.ts";
import { cookieOf, readCookie } from "../lib/cookies.ts";
import { randomBase62, sha256Hex } from "../lib/hash.ts";
import { stringOf } from "../lib/json.ts";
import { redirectReply } from "../lib/page.ts";
import { withParameters } from "../lib/redirects.ts";
import { jsonReply, type Reply } from "../lib/reply.ts";
import { auditFailure } from "./audit.ts";
import { browserOriginOf, isSecure } from "./origin.ts";
import { requireConsole } from "./session.ts";
import { beginSession, limitSignIns } from "./sign-in.ts";

/** Time for a user to sign in at the identity provider. */
const flowMs = 10 * 60_000;

/** Where the console shows its sign-in page. */
const signInPage = "/console/sign-in";

/** How users can sign in. */
export const SignInOptions = v.object({
  object: v.literal("sign_in_options"),
  /** `key`: with a key of the gateway; `oidc`: at the identity provider of the organisation. */
  methods: v.array(v.picklist(["key", "oidc"])),
  /** The sign-in at an identity provider needs the slug of the organisation. */
  asks_organisation: v.boolean(),
});

/** `GET /console/sign-in/options` */
export async function showOptions(context: RequestContext): Promise<Reply> {
  requireConsole(context);
  const { isOffered, asksOrganisation } = await context.services.singleSignOn.offer();
  const methods = isOffered ? ["key", "oidc"] : ["key"];
  return jsonReply({ object: "sign_in_options", methods, asks_organisation: asksOrganisation });
}

/** A path of the console to return to: nothing that could lead to another site. */
function readReturnPath(given: string | null | undefined, context: RequestContext): string {
  const base = basePathOf(context);
  const path = given?.startsWith(base) ? given.slice(base.length) : "";
  const isPath = /^\/console(?:[/?#][!-[\]-~]*)?$/.test(path) && path.length <= 2_048;
  return base + (isPath ? path : "/console");
}

/** Name of the cookie that ties a sign-in to its browser. It comes with the identity provider's redirect, unlike the session's. */
function browserCookieName(context: RequestContext): string {
  return cookieNameOf(isSecure(context) ? "__Host-gateway-console-sign-in" : "gateway-console-sign-in", context);
}

/** The place of a sign-in: a browser is known by the digest of its cookie. */
async function placeOf(context: RequestContext, browser: string) {
  const callback = `${browserOriginOf(context)}${basePathOf(context)}/console/sign-in/callback`;
  return { kind: "console-sign-in", callback, browserId: await sha256Hex(browser) };
}

/** Sends the browser to the sign-in page, which shows the problem. */
function problemReply(problem: string, context: RequestContext, returnTo?: string): Reply {
  return redirectReply(withParameters(basePathOf(context) + signInPage, { problem, return_to: returnTo }));
}

/** `GET /console/sign-in/oidc` */
export async function startSingleSignOn(context: RequestContext): Promise<Reply> {
  requireOrigin(context);
  limitSignIns(context);
  const { searchParams } = context.url;
  const returnTo = readReturnPath(searchParams.get("return_to"), context);
  const organisation = searchParams.get("organisation")?.slice(0, 64);
  const browser = randomBase62(32);
  const begun = await context.services.singleSignOn.begin({
    ...(await placeOf(context, browser)),
    organisation,
    content: { returnTo },
    lifeMs: flowMs,
  });
  if ("problem" in begun) return problemReply(begun.problem, context, returnTo);
  const reply = redirectReply(begun.address);
  const rules = { maxAgeSeconds: flowMs / 1_000, isSecure: isSecure(context), sameSite: "Lax" } as const;
  reply.headers["set-cookie"] = cookieOf(browserCookieName(context), browser, rules);
  return reply;
}

/** `GET /console/sign-in/callback` */
export async function finishSingleSignOn(context: RequestContext): Promise<Reply> {
  requireOrigin(context);
  const browser = readCookie(context.headers.get("cookie"), browserCookieName(context)) ?? "";
  const result = await context.services.singleSignOn.finish({
    ...(await placeOf(context, browser)),
    url: context.url,
  });
  if ("problem" in result) {
    const { problem, organisationId, content } = result;
    const failure = { organisationId, status: 403, details: { method: "oidc", reason: problem } };
    // an answer that no sign-in of this browser waits for is about nobody
    if (organisationId !== undefined) await auditFailure(failure, context);
    return problemReply(problem, context, content && readReturnPath(stringOf(content.returnTo), context));
  }
  const { organisationId, user, subject, content } = result;
  const holder = { kind: "user", organisationId, userId: user.id, subject } as const;
  const principal = { userId: user.id, keyId: "", workspaceId: null };
  const { cookie } = await beginSession(holder, context, { principal, method: "oidc" });
  const reply = redirectReply(readReturnPath(stringOf(content.returnTo), context));
  reply.headers["set-cookie"] = cookie;
  return reply;
}
