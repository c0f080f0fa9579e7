// The gateway as the entry of Deno Deploy, or of `deno serve -A main.ts`. The environment has DATABASE_URL (a libSQL server),
// DATABASE_AUTH_TOKEN, GATEWAY_MASTER_KEYS and the first keys.

import { createGateway } from "@gateway/gateway";

const environment = Deno.env.toObject();
const gateway = createGateway({
  database: environment.DATABASE_URL ?? ":memory:",
  ...(environment.DATABASE_AUTH_TOKEN && { databaseAuthToken: environment.DATABASE_AUTH_TOKEN }),
  ...(environment.GATEWAY_MASTER_KEYS && { masterKeys: environment.GATEWAY_MASTER_KEYS }),
  bootstrap: environment.BOOTSTRAP_WORKSPACE_KEY ? { workspaceKey: environment.BOOTSTRAP_WORKSPACE_KEY } : {},
});

export default {
  fetch: (request: Request, { remoteAddr }: Deno.ServeHandlerInfo<Deno.NetAddr>): Promise<Response> =>
    gateway.fetch(request, { remoteAddress: remoteAddr.hostname }),
} satisfies Deno.ServeDefaultExport;
