// Upstream that answers agents: writes each event of a stream by itself, as models do.
// `bun bench/agent-upstream.ts PORT EVENTS EVENTS_PER_SECOND`; 0 a second: as fast as possible

import process from "node:process";
import { answerEvents } from "./agent-forms.ts";

const [port, pieces, perSecond] = process.argv.slice(2).map(Number);
const encoder = new TextEncoder();
const answers = new Map(
  [...answerEvents(pieces ?? 0)].map(([path, events]) => [path, events.map((event) => encoder.encode(event))]),
);
const nextTurn = () => new Promise<void>((resume) => setImmediate(resume));

function streamEvents(events: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const startedAt = performance.now();
  let next = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      // a separate turn for each event, as writes in one turn may be sent together
      if (perSecond) await Bun.sleep(Math.max(0, startedAt + (next * 1_000) / perSecond - performance.now()));
      else await nextTurn();
      const event = events[next++];
      if (event) controller.enqueue(event);
      else controller.close();
    },
  });
}

Bun.serve({
  port: port ?? 0,
  hostname: "127.0.0.1",
  idleTimeout: 255,
  development: false,
  async fetch(request: Request) {
    await request.arrayBuffer();
    const events = answers.get(new URL(request.url).pathname);
    if (events === undefined) return new Response("unknown path", { status: 404 });
    return new Response(streamEvents(events), { headers: { "content-type": "text/event-stream" } });
  },
});
