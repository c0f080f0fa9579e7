import * as v from "valibot";
import { missingOf } from "../context/dependencies.ts";
import type { RequestContext } from "../context.ts";
import { basePathOf } from "../endpoint/public-origin.ts";
import { definePublicEndpoint, type Endpoint } from "../endpoint.ts";
import { UnavailableError } from "../errors.ts";
import { redirectReply } from "../lib/page.ts";
import { jsonReply } from "../lib/reply.ts";
import { version } from "../version.ts";

/** Whether a browser asks for a page, where the gateway has a console. */
function isForConsole({ services, connection, headers }: RequestContext): boolean {
  if (!services.console || connection.isMcpPort) return false;
  return /(?:^|[\s,])text\/html(?:$|[\s,;])/i.test(headers.get("accept") ?? "");
}

const Health = v.object({ status: v.literal("success"), message: v.string(), version: v.string() });
const Readiness = v.object({
  status: v.literal("success"),
  message: v.string(),
  dependencies: v.object({
    database: v.picklist(["ok", "away"]),
    snapshot: v.optional(v.string()),
    redis: v.optional(v.picklist(["ok", "away"])),
    limits: v.picklist(["exact", "shares"]),
    log: v.picklist(["ok", "waiting", "refusing"]),
  }),
});

/** Endpoints for hosts and load balancers that report the state of the process, and nothing else. */
export const systemEndpoints: readonly Endpoint[] = [
  definePublicEndpoint({
    method: "GET",
    path: "/",
    tag: "System",
    summary: "Greeting",
    access: "public",
    handle(context) {
      if (isForConsole(context)) return redirectReply(`${basePathOf(context)}/console`);
      return {
        status: 200,
        headers: { "content-type": "text/plain; charset=utf-8" },
        body: "AI gateway. See /openapi.json\n",
      };
    },
  }),
  ...["/health", "/v1/health"].map((path) =>
    definePublicEndpoint({
      method: "GET",
      path,
      tag: "System",
      summary: "Show whether the process is alive",
      access: "public",
      response: Health,
      handle: () => jsonReply({ status: "success", message: "Server is healthy", version }),
    }),
  ),
  definePublicEndpoint({
    method: "GET",
    path: "/ready",
    tag: "System",
    summary: "Show whether the process can serve requests",
    access: "public",
    response: Readiness,
    handle({ services }) {
      const dependencies = services.dependencies.state();
      const missing = missingOf(dependencies, services.readyRequires);
      if (missing.length > 0) {
        const states = missing.map((name) => `${name}: ${dependencies[name]}`).join(", ");
        throw new UnavailableError(`Server lacks what it needs (${states})`, {
          code: "not_ready",
          retryAfterSeconds: 1,
        });
      }
      if (services.isReady()) return jsonReply({ status: "success", message: "Server is ready", dependencies });
      throw new UnavailableError("Server is starting or stopping", { code: "not_ready", retryAfterSeconds: 1 });
    },
  }),
];
