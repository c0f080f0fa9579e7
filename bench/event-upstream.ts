// Upstream that writes each event of a stream by itself, as models do. `bun bench/event-upstream.ts PORT`

import process from "node:process";
import { claudeEvents } from "./scenarios.ts";

const encoder = new TextEncoder();
const events = claudeEvents().map((event) => encoder.encode(event));
const nextTurn = () => new Promise<void>((resume) => setImmediate(resume));

function streamEvents(): ReadableStream<Uint8Array> {
  let next = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      // a separate turn for each event, as writes in one turn may be sent together
      await nextTurn();
      const event = events[next++];
      if (event) controller.enqueue(event);
      else controller.close();
    },
  });
}

Bun.serve({
  port: Number(process.argv[2]),
  hostname: "127.0.0.1",
  idleTimeout: 255,
  development: false,
  async fetch(request: Request) {
    await request.arrayBuffer();
    return new Response(streamEvents(), { headers: { "content-type": "text/event-stream" } });
  },
});
