import createFetchClient from "openapi-fetch";

/**
 * A client of a gateway. Each path of its API is typed.
 *
 * @param {import("./index.d.ts").GatewayClientOptions} options
 * @returns {import("./index.d.ts").GatewayClient}
 */
export function createGatewayClient({ apiKey, headers, ...options }) {
  return createFetchClient({ ...options, headers: { "x-gateway-api-key": apiKey, ...headers } });
}
