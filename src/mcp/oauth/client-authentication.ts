import { readClaims } from "../../auth/jwt-claims.ts";
import { clientAddressOf, type RequestContext } from "../../context.ts";
import { AuthenticationError, OauthError } from "../../errors.ts";
import { fromBase64 } from "../../lib/base64.ts";
import { decodeUtf8, stringOf } from "../../lib/json.ts";
import { ClientProblem, type OauthClient } from "../registry/oauth/clients.ts";
import { issuerOf, oauthAddress } from "./addresses.ts";
import type { Parameters } from "./form.ts";

/** Type of an assertion (RFC 7523, section 2.2). */
const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** How a client says who it is. */
interface ClientCredentials {
  readonly clientId: string;
  readonly method: OauthClient["authMethod"];
  /** The secret or the assertion. */
  readonly proof: string;
}

/** A part of the credentials in a header, encoded as in a form (RFC 6749, section 2.3.1). */
function decodePart(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}

function readBasic(authorization: string): Pick<ClientCredentials, "clientId" | "proof"> | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization) ?? [];
  try {
    const text = decodeUtf8(fromBase64(encoded ?? ""));
    const colon = text.indexOf(":");
    if (colon < 1) return undefined;
    return { clientId: decodePart(text.slice(0, colon)), proof: decodePart(text.slice(colon + 1)) };
  } catch {
    return undefined;
  }
}

function refuseClient(message = "Cannot authenticate the client", cause?: unknown): never {
  throw new OauthError("invalid_client", message, {
    status: 401,
    headers: { "www-authenticate": 'Basic realm="oauth"' },
    ...(cause !== undefined && { cause }),
  });
}

/** The client that an assertion is about, unverified. */
function subjectOf(assertion: string): string | undefined {
  try {
    return stringOf(readClaims(assertion).sub);
  } catch {
    return undefined;
  }
}

/** What a request says of its client. @throws {OauthError} If it says so in two ways, or not at all. */
function readCredentials(context: RequestContext, form: Parameters): ClientCredentials {
  const authorization = context.headers.get("authorization");
  const [id, secret, assertion] = ["client_id", "client_secret", "client_assertion"].map((name) => form.get(name));
  if ([authorization, secret, assertion].filter((given) => given !== undefined).length > 1) {
    throw new OauthError("invalid_request", "Cannot authenticate the client: it uses two methods");
  }
  if (authorization !== undefined) {
    const read = readBasic(authorization) ?? refuseClient();
    if (id !== undefined && id !== read.clientId) refuseClient();
    return { ...read, method: "client_secret_basic" };
  }
  if (assertion !== undefined) {
    const clientId = id ?? subjectOf(assertion);
    if (form.get("client_assertion_type") !== assertionType || clientId === undefined) refuseClient();
    return { clientId, method: "private_key_jwt", proof: assertion };
  }
  if (id === undefined) throw new OauthError("invalid_request", "Cannot serve the request: client_id is missing");
  return { clientId: id, method: secret === undefined ? "none" : "client_secret_post", proof: secret ?? "" };
}

/** Whether the proof of a client is right. */
async function isProven(client: OauthClient, { method, proof }: ClientCredentials, context: RequestContext) {
  const { oauth } = context.services;
  if (client.authMethod === "none") return method === "none";
  if (client.authMethod === "private_key_jwt") {
    const audience = [issuerOf(context), oauthAddress(context, "token")];
    return method === "private_key_jwt" && (await oauth.assertions.verify(client, proof, audience));
  }
  // either way of sending a secret proves that the client has it
  if (!method.startsWith("client_secret") || client.secretDigest === null) return false;
  return oauth.verifySecret(client.secretDigest, proof);
}

/** Counts a failure with those of wrong keys of the same address. @throws {GatewayError} */
export function refuseCounted(context: RequestContext, refuse: () => never): never {
  const { authenticator } = context.services;
  try {
    return authenticator.refuse(() => clientAddressOf(context, context.services), "");
  } catch (error) {
    if (error instanceof AuthenticationError) return refuse();
    throw error;
  }
}

/**
 * The client of a request to the token endpoint, authenticated as it registered.
 *
 * @throws {OauthError}
 */
export async function authenticateClient(context: RequestContext, form: Parameters): Promise<OauthClient> {
  const credentials = readCredentials(context, form);
  let client: OauthClient | undefined;
  try {
    const address = clientAddressOf(context, context.services);
    client = await context.services.oauth.clients.find(credentials.clientId, address);
  } catch (error) {
    if (error instanceof ClientProblem) return refuseCounted(context, () => refuseClient(error.message, error));
    throw error;
  }
  if (client && (await isProven(client, credentials, context))) return client;
  return refuseCounted(context, () => refuseClient());
}
