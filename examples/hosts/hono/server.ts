// The gateway below /ai of an application of Hono, on Node.

import process from "node:process";
import { createGateway } from "@gateway/gateway";
import { serve } from "@hono/node-server";
import { Hono } from "hono";

const workspaceKey = process.env.WORKSPACE_KEY;
// To keep its data, set `database: "file:gateway.db"` and `masterKeys`.
const gateway = createGateway({ database: ":memory:", bootstrap: workspaceKey ? { workspaceKey } : {} });
await gateway.start();

const app = new Hono();
app.get("/", (context) => context.text("This page is ours"));
// Hono removes the path below which the gateway is mounted.
app.mount("/ai", (request) => gateway.fetch(request));

const server = serve(
  { fetch: app.fetch, hostname: "127.0.0.1", port: Number(process.env.PORT ?? 3000) },
  ({ port }) => {
    console.log(`serving on http://127.0.0.1:${port}`);
  },
);

process.on("SIGTERM", async () => {
  server.close();
  await gateway.drain(5_000);
  await gateway.close();
  process.exit(0);
});
