import type { RequestContext } from "../../context.ts";
import { hopPage, problemPage } from "../../lib/page.ts";
import type { Reply } from "../../lib/reply.ts";
import { oauthAddress } from "./addresses.ts";
import type { Browser, Session } from "./browser.ts";
import { type Flow, flowMs, readFlow } from "./flow.ts";

const stalePage = () => problemPage("This page is too old", "Start again from your client.");

const problem = (text: string, status?: number) => () => problemPage("Cannot sign in", text, status);

/** Pages that say why nobody signed in. */
const problemPages = {
  not_offered: problem("This organisation has no single sign-on. Sign in with a key."),
  unreachable: problem("The identity provider cannot be reached.", 502),
  stale: stalePage,
  not_confirmed: problem("The identity provider did not confirm who you are.", 403),
  no_user: problem("This account is no user of the gateway.", 403),
} as const;

/** The place of the sign-in for a browser. */
const placeOf = (context: RequestContext, browser: Browser) => ({
  kind: "sign-in",
  callback: oauthAddress(context, "sign-in-callback"),
  browserId: browser.id,
});

/** Sends the browser to the identity provider of an organisation. */
export async function startSingleSignOn(
  context: RequestContext,
  flow: Flow,
  { browser, organisation }: { browser: Browser; organisation: string | undefined },
): Promise<Reply> {
  const { singleSignOn } = context.services;
  const place = placeOf(context, browser);
  const begun = await singleSignOn.begin({ ...place, organisation, content: { flow }, lifeMs: flowMs });
  if ("problem" in begun) return problemPages[begun.problem]();
  return hopPage("Continue to your identity provider", begun.address);
}

/** What came of a sign-in: a session and the flow to go on with, or a page that says why not. */
type SignInResult = { readonly session: Session; readonly flow: Flow } | { readonly page: Reply };

/** Reads the answer of an identity provider. */
export async function finishSingleSignOn(context: RequestContext, browser: Browser): Promise<SignInResult> {
  const result = await context.services.singleSignOn.finish({ ...placeOf(context, browser), url: context.url });
  if ("problem" in result) return { page: problemPages[result.problem]() };
  const { organisationId, user, content } = result;
  const flow = readFlow(content.flow);
  if (!flow) return { page: stalePage() };
  return { flow, session: { organisationId, userId: user.id, workspaceId: null, keyId: null, keyVersion: null } };
}
