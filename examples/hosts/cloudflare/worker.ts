// The gateway on Cloudflare Workers. It lives in a Durable Object, so that its timers, its memory and the rows of the log that wait
// survive a request, and all requests share its limits. The database is a libSQL server. There is no address-checked connector:
// `fetch` of Workers reaches public addresses alone.

import { createGateway, type Gateway } from "@gateway/gateway";

interface Namespace {
  idFromName(name: string): unknown;
  get(id: unknown): { fetch(request: Request): Promise<Response> };
}

/** Bindings of wrangler.jsonc, and secrets. */
interface Environment {
  readonly GATEWAY: Namespace;
  readonly DATABASE_URL: string;
  readonly DATABASE_AUTH_TOKEN?: string;
  readonly GATEWAY_MASTER_KEYS: string;
  readonly BOOTSTRAP_ADMIN_KEY: string;
  readonly BOOTSTRAP_WORKSPACE_KEY: string;
}

export class GatewayObject {
  readonly #gateway: Gateway;

  constructor(_state: unknown, environment: Environment) {
    const token = environment.DATABASE_AUTH_TOKEN;
    this.#gateway = createGateway({
      database: environment.DATABASE_URL,
      ...(token !== undefined && { databaseAuthToken: token }),
      masterKeys: environment.GATEWAY_MASTER_KEYS,
      bootstrap: { adminKey: environment.BOOTSTRAP_ADMIN_KEY, workspaceKey: environment.BOOTSTRAP_WORKSPACE_KEY },
    });
  }

  fetch(request: Request): Promise<Response> {
    const plain = new Request(request);
    // Workers compress what they send: a body that is compressed already would be compressed twice
    plain.headers.delete("accept-encoding");
    return this.#gateway.fetch(plain, { remoteAddress: request.headers.get("cf-connecting-ip") ?? "unknown" });
  }
}

export default {
  fetch(request: Request, { GATEWAY }: Environment): Promise<Response> {
    return GATEWAY.get(GATEWAY.idFromName("gateway")).fetch(request);
  },
};
