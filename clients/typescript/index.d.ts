import type { Client, ClientOptions } from "openapi-fetch";
import type { components, paths } from "./schema.js";

export type { components, paths };

export interface GatewayClientOptions extends Omit<ClientOptions, "baseUrl" | "headers"> {
  /** Address of the gateway, without a path: `https://gateway.example.com`. */
  baseUrl: string;
  /** A key of a workspace, or an admin key. */
  apiKey: string;
  /** Headers of every request, such as `x-gateway-trace-id`. */
  headers?: Readonly<Record<string, string>>;
}

/** One method for each HTTP method: `client.GET("/v1/configs")`. */
export type GatewayClient = Client<paths>;

/** A client of a gateway. Each path of its API is typed. */
export declare function createGatewayClient(options: GatewayClientOptions): GatewayClient;
