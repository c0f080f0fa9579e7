const loopbackNames = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Private schemes without a dot that widespread editors use. */
const editorSchemes = new Set(["cursor:", "vscode:", "vscode-insiders:", "windsurf:"]);

/** Schemes that browsers and systems run or show by themselves; private schemes whose first part is one of them are refused. */
const actingSchemes = new Set(
  (
    "about blob chrome data file filesystem ftp http https intent jar javascript jscript livescript mhtml mk mocha ms-its res " +
    "resource vbscript view-source ws wss wyciwyg"
  ).split(" "),
);

/** Visible ASCII, without what ends or splits a header or an attribute. */
const plainForm = /^[\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]{1,2048}$/;

function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === "http:" && loopbackNames.has(hostname);
}

/**
 * Whether codes may be sent to an address: over https, to a loopback host of this machine, or to an app that a private
 * scheme belongs to (RFC 8252, section 7).
 */
export function isRedirectAddress(text: string): boolean {
  const url = plainForm.test(text) ? URL.parse(text) : null;
  if (!url || text.includes("#")) return false;
  if (url.username !== "" || url.password !== "") return false;
  if (url.protocol === "https:") return /^https:\/\/[^/?]/i.test(text);
  if (url.protocol === "http:") return isLoopback(url);
  const [, first = ""] = /^([a-z][a-z0-9+-]*)(?:\.[a-z0-9+-]+)+:$/.exec(url.protocol) ?? [];
  return (first !== "" && !actingSchemes.has(first)) || editorSchemes.has(url.protocol);
}

/** A loopback address without its port; undefined for others. */
function withoutLoopbackPort(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || !isLoopback(url)) return undefined;
  return text.replace(/^(http:\/\/(?:\[[^\]]*\]|[^/:?]+))(?::[0-9]+)?/i, "$1");
}

/** Whether an address is one of the registered ones, byte for byte; on loopback hosts the port is free (RFC 8252, section 7.3). */
export function isRegisteredRedirect(registered: readonly string[], given: string): boolean {
  if (!isRedirectAddress(given)) return false;
  if (registered.includes(given)) return true;
  const bare = withoutLoopbackPort(given);
  return bare !== undefined && registered.some((one) => withoutLoopbackPort(one) === bare);
}

/** Whether an address belongs to whatever program of the user's machine answers there. */
export function isLocalRedirect(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && url.protocol !== "https:";
}

/** Where an address leads, as users know it. */
export function describeRedirect(text: string): string {
  const url = URL.parse(text);
  if (!url) return text;
  return url.protocol === "https:" || url.protocol === "http:" ? url.host : url.protocol.replace(/:$/, "");
}

/** An address with parameters added to its query. */
export function withParameters(address: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const added = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const query = new URLSearchParams(added).toString();
  return query === "" ? address : `${address}${address.includes("?") ? "&" : "?"}${query}`;
}
