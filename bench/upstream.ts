// Static upstream for machines without nginx. `bun bench/upstream.ts PORT`

import process from "node:process";
import { staticAnswers } from "./scenarios.ts";

const encoder = new TextEncoder();
const answers = new Map(
  staticAnswers.map(({ path, contentType, body }) => [
    path,
    { bytes: encoder.encode(body), init: { headers: { "content-type": contentType } } },
  ]),
);

Bun.serve({
  port: Number(process.argv[2]),
  hostname: "127.0.0.1",
  idleTimeout: 255,
  development: false,
  async fetch(request: Request) {
    await request.arrayBuffer();
    const { url } = request;
    const answer = answers.get(url.slice(url.indexOf("/", "http://".length)));
    return answer ? new Response(answer.bytes, answer.init) : new Response("unknown path", { status: 404 });
  },
});
