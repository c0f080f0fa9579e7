// The least a proxy on Bun can do: what the gateway is compared with. `bun bench/bare-proxy.ts PORT UPSTREAM_ORIGIN`

import process from "node:process";

const [port, upstream] = process.argv.slice(2);

function headersOf(answer: Response): HeadersInit {
  return { "content-type": answer.headers.get("content-type") ?? "application/octet-stream" };
}

Bun.serve({
  port: Number(port),
  hostname: "127.0.0.1",
  idleTimeout: 255,
  development: false,
  async fetch(request: Request) {
    const { url, method, headers } = request;
    const answer = await fetch(`${upstream}${url.slice(url.indexOf("/", "http://".length))}`, {
      method,
      headers: {
        "content-type": headers.get("content-type") ?? "application/json",
        authorization: headers.get("authorization") ?? "",
      },
      body: await request.text(),
    });
    const { status } = answer;
    const body = answer.headers.get("content-type")?.startsWith("text/event-stream")
      ? answer.body
      : await answer.text();
    return new Response(body, { status, headers: headersOf(answer) });
  },
});
