// The gateway inside your own server: it serves all paths below /ai, and your server serves the rest.
//
//   node examples/embed.ts
//   curl http://127.0.0.1:3000/ai/v1/chat/completions \
//     -H "x-gateway-api-key: <the key it prints>" -H "x-gateway-provider: echo" -H "content-type: application/json" \
//     -d '{"model":"echo-1","messages":[{"role":"user","content":"Hello"}]}'

import { createServer } from "node:http";
import process from "node:process";
import { getRequestListener } from "@hono/node-server";
import { createGateway } from "../mod.ts";

// This gateway stores nothing on disk. To keep its data, set `database: "file:gateway.db"` and `masterKeys`.
const gateway = createGateway({
  database: ":memory:",
  // without this option the first keys are random
  bootstrap: process.env.WORKSPACE_KEY ? { workspaceKey: process.env.WORKSPACE_KEY } : {},
});
const firstKeys = await gateway.start();

// A gateway is a function from Request to Response. A server with these types needs no adapter.
const answerByGateway = getRequestListener((request) => gateway.fetch(request), { overrideGlobalObjects: false });

const server = createServer((request, response) => {
  const path = request.url ?? "/";
  if (path.startsWith("/ai/")) {
    request.url = path.slice("/ai".length);
    void answerByGateway(request, response);
  } else {
    response.end("This page is ours\n");
  }
});

server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  console.log(`Our server is serving on http://127.0.0.1:${port} with the gateway below /ai`);
  if (firstKeys?.workspaceKey) console.log(`Workspace key: ${firstKeys.workspaceKey}`);
});

// Running requests get five seconds to finish. Then the gateway writes its buffered log rows.
process.on("SIGTERM", async () => {
  server.close();
  await gateway.drain(5_000);
  await gateway.close();
  process.exit(0);
});
