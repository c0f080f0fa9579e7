import type { RequestContext } from "../context.ts";
import { definePublicEndpoint, type Endpoint } from "../endpoint.ts";
import type { Reply } from "../lib/reply.ts";
import { serveConsole } from "./assets.ts";
import { SessionReply } from "./describe.ts";
import { openInvite } from "./invite.ts";
import { SignedOut, SignInRequest, showSession, signIn, signOut } from "./sign-in.ts";
import { finishSingleSignOn, SignInOptions, showOptions, startSingleSignOn } from "./single-sign-on.ts";

/** Where the console is. */
const consolePath = "/console";

type Handle = (context: RequestContext) => Reply | Promise<Reply>;

function get(path: string, summary: string, handle: Handle): Parameters<typeof definePublicEndpoint>[0] {
  return { method: "GET", path, summary, handle, tag: "Console", access: "public" };
}

const session = { path: `${consolePath}/session`, tag: "Console", access: "public" } as const;

/** The console in browsers, and the sessions with which its pages call the API. */
export const consoleEndpoints: readonly Endpoint[] = [
  definePublicEndpoint({
    ...session,
    method: "POST",
    summary: "Sign in to the console with a key: begins a session in a cookie",
    body: SignInRequest,
    response: SessionReply,
    handle: signIn,
  }),
  definePublicEndpoint({
    ...session,
    method: "GET",
    summary: "Show who signed in with the cookie, and what the session may do",
    response: SessionReply,
    handle: showSession,
  }),
  definePublicEndpoint({
    ...session,
    method: "DELETE",
    summary: "Sign out of the console: ends the session of the cookie",
    response: SignedOut,
    handle: signOut,
  }),
  definePublicEndpoint({
    ...get(`${consolePath}/sign-in/options`, "Show how users can sign in to the console", showOptions),
    response: SignInOptions,
  }),
  definePublicEndpoint({
    ...get(
      `${consolePath}/sign-in/oidc`,
      "Sign in at the identity provider of the organisation; opened by a browser",
      startSingleSignOn,
    ),
    query: [
      { name: "organisation", description: "Slug of the organisation; not needed where there is only one" },
      { name: "return_to", description: "Path of the console that is shown afterwards" },
    ],
  }),
  definePublicEndpoint(
    get(
      `${consolePath}/sign-in/callback`,
      "Where identity providers return to; opened by a browser",
      finishSingleSignOn,
    ),
  ),
  definePublicEndpoint({
    ...get("/invites/:inviteId", "Where the link of an invite leads; opened by a browser", openInvite),
    query: [{ name: "token", description: "The token of the link" }],
  }),
  definePublicEndpoint(get(consolePath, "The console; opened by a browser", serveConsole)),
  definePublicEndpoint(get(`${consolePath}/:path+`, "Pages and files of the console", serveConsole)),
];
