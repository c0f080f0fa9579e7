// The gateway below /ai of an application of Next.js: its folder is `app/ai/[...path]`.

import { createGateway } from "@gateway/gateway";

export const runtime = "nodejs";
export const dynamic = "force-dynamic";

// One gateway for the process, also when the development server loads this module again.
globalThis.gateway ??= createGateway({
  database: ":memory:",
  bootstrap: process.env.WORKSPACE_KEY ? { workspaceKey: process.env.WORKSPACE_KEY } : {},
});
const gateway = globalThis.gateway;

/** @param {Request} request */
async function handle(request) {
  const url = new URL(request.url);
  url.pathname = url.pathname.replace(/^\/ai/, "");
  const { method, headers, signal } = request;
  // Next's own request is not taken apart: a new one has the other path
  const body = request.body === null ? {} : { body: request.body, duplex: "half" };
  return gateway.fetch(new Request(url, { method, headers, signal, ...body }));
}

export { handle as DELETE, handle as GET, handle as POST, handle as PUT };
