// A server with the gateway inside, started by tests.

import { createServer } from "node:http";
import process from "node:process";
import { getRequestListener } from "@hono/node-server";
import { createGateway } from "../../mod.ts";

const gateway = createGateway({
  bootstrap: {
    workspaceKey: process.env.BOOTSTRAP_WORKSPACE_KEY ?? "",
    adminKey: process.env.BOOTSTRAP_ADMIN_KEY ?? "",
  },
  trustedHosts: ["127.0.0.1"],
});
await gateway.start();
const server = createServer(getRequestListener((request) => gateway.fetch(request), { overrideGlobalObjects: false }));
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(`serving on http://127.0.0.1:${typeof address === "object" ? address?.port : undefined}`);
});
