import { consolePath } from "../api/base.ts";

/** A page of the console: its address below `/console`, and its search parameters. */
interface Place {
  readonly to: string;
  readonly search: Readonly<Record<string, string>>;
}

/** Whether the sign-in page itself is open, to which the gateway leads when an identity provider refused. */
export function isSignInPage(): boolean {
  return location.pathname === `${consolePath}/sign-in`;
}

/** The page that was asked for before the sign-in, as `return_to` names it. Only pages of the console count; else the first. */
export function readReturn(search: string): Place {
  const given = new URLSearchParams(search).get("return_to") ?? consolePath;
  const url = URL.canParse(given, location.origin) ? new URL(given, location.origin) : undefined;
  const isOwn =
    url?.origin === location.origin && (url.pathname === consolePath || url.pathname.startsWith(`${consolePath}/`));
  if (!isOwn || url.pathname === `${consolePath}/sign-in`) return { to: "/", search: {} };
  return { to: url.pathname.slice(consolePath.length) || "/", search: Object.fromEntries(url.searchParams) };
}

/** The address of a page. */
export function addressOf({ to, search }: Place): string {
  const query = new URLSearchParams(search);
  return `${consolePath}${to === "/" ? "" : to}${query.size === 0 ? "" : `?${query}`}`;
}
