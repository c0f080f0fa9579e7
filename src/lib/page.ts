import { toBase64Url } from "./base64.ts";
import { randomBytes } from "./hash.ts";
import type { Reply } from "./reply.ts";

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** A string as text of an HTML document, or as a quoted attribute of it. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => escapes[sign] ?? "");
}

/** HTML that is safe to send: made by `html` alone. */
export interface Html {
  readonly html: string;
}

type Part = string | Html | readonly Html[] | undefined;

function toText(part: Part): string {
  if (part === undefined) return "";
  if (typeof part === "string") return escapeHtml(part);
  return "html" in part ? part.html : part.map((one) => one.html).join("");
}

/** HTML with values put in as text, except those that are HTML themselves. */
export function html(strings: TemplateStringsArray, ...values: readonly Part[]): Html {
  return { html: strings.reduce((text, string, index) => text + toText(values[index - 1]) + string) };
}

/** A hidden field of a form. */
export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`;
}

const style = `
:root { color-scheme: light dark; --line: #767676; --accent: #0b57d0; --on-accent: #fff; }
@media (prefers-color-scheme: dark) { :root { --line: #8e8e8e; --accent: #a8c7fa; --on-accent: #062e6f; } }
* { box-sizing: border-box; }
body { margin: 0; font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 30rem; margin: 0 auto; padding: 1.5rem 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.375rem; line-height: 1.25; }
h2 { font-size: 1.125rem; margin: 2rem 0 0; }
dl { margin: 1rem 0; }
dt { font-weight: 600; }
dd { margin: 0 0 .75rem; }
label { display: block; margin: 1rem 0 .25rem; font-weight: 600; }
input { width: 100%; padding: .5rem .75rem; font: inherit; border: 1px solid var(--line); border-radius: .375rem; }
button, a.button { display: block; width: 100%; margin: .75rem 0 0; padding: .625rem 1rem; font: inherit; font-weight: 600;
  text-align: center; text-decoration: none; border: 1px solid var(--accent); border-radius: .375rem; cursor: pointer;
  background: var(--accent); color: var(--on-accent); }
button.plain { background: transparent; color: inherit; border-color: var(--line); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.note { border-left: 4px solid var(--line); padding-left: .75rem; }
`;

/** How a page is sent. */
interface PageOptions {
  readonly status?: number;
  /** Where its forms may lead, besides this gateway: origins or schemes. */
  readonly formTargets?: readonly string[];
  /** An address that the browser goes on to by itself. */
  readonly next?: string;
}

/** What a form that leads to an address must be allowed: its origin, or its scheme where an origin cannot be written. */
export function formTargetOf(address: string): string {
  const { protocol, host, hostname } = new URL(address);
  const hasOrigin = (protocol === "https:" || protocol === "http:") && !hostname.startsWith("[");
  return hasOrigin ? `${protocol}//${host}` : protocol;
}

/** A page. It has no script, and cannot be shown inside another page. */
export function pageReply(title: string, content: Html, options: PageOptions = {}): Reply {
  const { status = 200, formTargets = [], next } = options;
  const nonce = toBase64Url(randomBytes(16));
  const policy = [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    // the empty icon
    "img-src data:",
    `form-action ${["'self'", ...formTargets].join(" ")}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  const refresh = next === undefined ? undefined : html`<meta http-equiv="refresh" content="0; url=${next}">`;
  const body = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
${refresh}
<title>${title}</title>
<style nonce="${nonce}">${{ html: style }}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`;
  return {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy.join("; "),
      "x-frame-options": "DENY",
      "referrer-policy": "same-origin",
      "cross-origin-opener-policy": "same-origin",
      "permissions-policy": "clipboard-read=(), camera=(), microphone=()",
    },
    body: body.html,
  };
}

/** A page that says why something cannot be done. */
export function problemPage(title: string, problem: string, status = 400): Reply {
  return pageReply(title, html`<p role="alert">${problem}</p>`, { status });
}

/** Sends the browser to another site: by a link, since the rules for forms do not reach what follows one. */
export function hopPage(title: string, address: string): Reply {
  const content = html`<p>You are going to <strong>${new URL(address).host}</strong>.</p>
<p><a class="button" href="${address}" rel="noreferrer">Continue</a></p>`;
  return pageReply(title, content, { next: address });
}

/** Sends the browser to an address. */
export function redirectReply(address: string): Reply {
  return { status: 303, headers: { location: address, "referrer-policy": "no-referrer" }, body: null };
}
