import * as v from "valibot";
import { defineMcpEndpoint, type Endpoint } from "../endpoint.ts";
import { catalogEndpoints } from "./catalog.ts";
import { mcpAccess } from "./mcp-call.ts";
import { mcpOauthEndpoints } from "./oauth/endpoints.ts";
import { serveMcp } from "./serve.ts";

/** A JSON-RPC message, for the OpenAPI document: the upstream server decides on the rest. */
const RpcMessage = v.looseObject({
  jsonrpc: v.literal("2.0"),
  id: v.optional(v.union([v.string(), v.number()])),
  method: v.optional(v.string()),
  params: v.optional(v.looseObject({})),
});

const serverEndpoints: readonly Endpoint[] = ["/m/:slug/mcp", "/m/:workspace/:slug/mcp"].map((path) =>
  defineMcpEndpoint({
    method: "POST",
    path,
    tag: "MCP",
    summary: "Call an MCP server: one JSON-RPC message of the Model Context Protocol",
    access: mcpAccess,
    operation: "mcp",
    errorForm: "mcp",
    errorsBelow: "/m",
    documentedBody: { schema: RpcMessage, types: ["application/json"] },
    handle: serveMcp,
  }),
);

/** The endpoints of MCP servers, and of the authorization server in front of them. */
export const mcpEndpoints: readonly Endpoint[] = [...serverEndpoints, ...catalogEndpoints, ...mcpOauthEndpoints];
