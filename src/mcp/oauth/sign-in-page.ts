import type { RequestContext } from "../../context.ts";
import { hidden, html, pageReply } from "../../lib/page.ts";
import type { Reply } from "../../lib/reply.ts";
import { oauthPath } from "./addresses.ts";
import type { Browser } from "./browser.ts";
import { type Flow, sealFlow } from "./flow.ts";

/** The page on which a user signs in: with a personal key, or at the identity provider of the organisation. */
export async function signInPage(
  context: RequestContext,
  flow: Flow,
  { browser, problem }: { browser: Browser; problem?: string },
): Promise<Reply> {
  const sealed = await sealFlow(flow, browser.id, context);
  const alert = problem === undefined ? undefined : html`<p role="alert" id="problem"><strong>${problem}</strong></p>`;
  const offer = await context.services.singleSignOn.offer();
  const singleSignOn = offer.isOffered
    ? html`<h2>Single sign-on</h2>
<form method="post" action="${oauthPath(context, "sign-in")}">${hidden("flow", sealed)}${hidden("method", "sso")}
${
  offer.asksOrganisation
    ? html`<label for="organisation">Organisation</label>
<input id="organisation" name="organisation" required maxlength="64" autocomplete="organization">`
    : undefined
}
<button class="plain">Continue with single sign-on</button></form>`
    : undefined;
  const content = html`${alert}<p>Sign in to this AI gateway to go on.</p>
<form method="post" action="${oauthPath(context, "sign-in")}">${hidden("flow", sealed)}${hidden("method", "key")}
<label for="key">Your personal API key</label>
<input id="key" name="key" type="password" required maxlength="512" autocomplete="off" spellcheck="false"${
    problem === undefined ? undefined : html` aria-describedby="problem"`
  }>
<button>Sign in</button></form>${singleSignOn}`;
  return pageReply("Sign in", content, {
    status: problem === undefined ? 200 : 401,
  });
}
