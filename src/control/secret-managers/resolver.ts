import * as v from "valibot";
import type { SecretReferenceRow } from "../../db/tables/secrets.ts";
import { type AddressGuard, AddressRefusedError, requireBaseUrl } from "../../lib/address.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import type { Clock } from "../../lib/clock.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import type { Outbound } from "../../lib/outbound.ts";
import { authSchemas, fieldsOfMode } from "../../schemas/secret-references.ts";
import { type AwsOptions, readAwsSecret } from "./aws.ts";
import { type AzureOptions, readAzureSecret } from "./azure.ts";
import { readHashicorpSecret } from "./hashicorp.ts";
import type { AuthSecrets } from "./open.ts";
import { SecretUnavailableError } from "./request.ts";

/** How long values and failures are cached, in milliseconds. */
const keepMs = 5 * 60_000;
const keepFailureMs = 5_000;
/** Most values in memory. */
const maxValues = 2_000;

/** Options of a resolver. */
export interface SecretResolverOptions
  extends Pick<AwsOptions, "awsEndpoint" | "awsIdentity">,
    Pick<AzureOptions, "azureLoginUrl"> {
  outbound: Outbound;
  guard: AddressGuard;
  clock: Clock;
}

/** Reads secrets from the stores that references name. */
export interface SecretResolver {
  /**
   * The secret of a reference. Cached for five minutes; concurrent calls share one request.
   *
   * @param secrets Decrypted credentials of the store; only called if the value is not cached.
   * @param options.secretKey Field of a JSON secret, overriding the reference's own.
   * @param options.isRefused The cached value was refused: it is read again.
   * @throws {SecretUnavailableError} If it cannot be read. Failures are cached for five seconds.
   */
  resolve(
    reference: SecretReferenceRow,
    secrets: AuthSecrets | (() => Promise<AuthSecrets>),
    options?: { secretKey?: string | null | undefined; isRefused?: boolean },
  ): Promise<string>;
}

/** A field of a secret that is a JSON object; without a name, the whole secret. */
function pickMember(secret: string, key: string | null): string {
  if (key === null) return secret;
  const value = parseJson(secret);
  if (!isObject(value))
    throw new SecretUnavailableError("the secret is not a JSON object, and secret_key names a field");
  const member = Object.hasOwn(value, key) ? value[key] : undefined;
  if (member === undefined || member === null) throw new SecretUnavailableError("the secret has no field secret_key");
  return typeof member === "string" ? member : JSON.stringify(member);
}

/** Checks a store's address: public, and encrypted unless the operator trusts the host. */
function createAddressCheck(guard: AddressGuard): (text: string) => string {
  return (text) => {
    try {
      const url = requireBaseUrl(guard, text);
      if (url.protocol === "https:" || guard.isTrusted(url)) return text;
    } catch (cause) {
      if (!(cause instanceof AddressRefusedError)) throw cause;
      throw new SecretUnavailableError(`the address of the store is refused: ${cause.reason}`, { cause });
    }
    throw new SecretUnavailableError("the address of the store is refused: it must start with https://");
  };
}

/** Stored credentials by their schema. What was stored with another mode may stand beside them. */
function requireAuth<Schema extends (typeof authSchemas)[keyof typeof authSchemas]>(
  schema: Schema,
  value: unknown,
): v.InferOutput<Schema> {
  const checked = v.safeParse(schema, isObject(value) ? fieldsOfMode(schema, value) : value);
  if (checked.success) return checked.output;
  throw new SecretUnavailableError(`auth_config is not complete: ${v.getDotPath(checked.issues[0]) ?? ""}`);
}

/** Creates the resolver of a gateway. */
export function createSecretResolver(options: SecretResolverOptions): SecretResolver {
  const { clock } = options;
  const store = { ...options, now: clock.now, requireAddress: createAddressCheck(options.guard) };
  const cached = new BoundedMap<string, { until: number; value: Promise<string> }>(maxValues);

  /** Removes expired values, oldest first. */
  const dropExpired = () => {
    for (const [key, { until }] of cached.entries()) {
      if (clock.monotonic() < until) return;
      cached.delete(key);
    }
  };
  const read = (reference: SecretReferenceRow, secrets: AuthSecrets): Promise<string> => {
    const { organisationId, secretPath, managerType } = reference;
    const auth = { ...(isObject(reference.authConfig) ? reference.authConfig : {}), ...secrets };
    switch (managerType) {
      case "aws_sm":
        return readAwsSecret(requireAuth(authSchemas.aws_sm, auth), { secretPath, organisationId }, store);
      case "azure_kv":
        return readAzureSecret(requireAuth(authSchemas.azure_kv, auth), secretPath, store);
      case "hashicorp_vault":
        return readHashicorpSecret(requireAuth(authSchemas.hashicorp_vault, auth), secretPath, store);
      default:
        throw new SecretUnavailableError(`there is no manager_type ${managerType}`);
    }
  };
  return {
    resolve(reference, secrets, { secretKey, isRefused = false } = {}) {
      const { organisationId, id, lastUpdatedAt } = reference;
      const member = secretKey ?? reference.secretKey;
      const key = JSON.stringify([organisationId, id, lastUpdatedAt, member]);
      const hit = cached.get(key);
      const isReading = hit?.until === Number.POSITIVE_INFINITY;
      if (hit && clock.monotonic() < hit.until && (isReading || !isRefused)) return hit.value;
      const fetched = async () => {
        try {
          const opened = typeof secrets === "function" ? await secrets() : secrets;
          return pickMember(await read(reference, opened), member);
        } catch (cause) {
          if (cause instanceof SecretUnavailableError) throw cause;
          throw new SecretUnavailableError("the credentials of the store are not available", { cause });
        }
      };
      const entry = { until: Number.POSITIVE_INFINITY, value: fetched() };
      dropExpired();
      cached.delete(key); // so that entries stay in the order they were read
      cached.set(key, entry);
      const keepFor = (milliseconds: number) => () => {
        entry.until = clock.monotonic() + milliseconds;
      };
      entry.value.then(keepFor(keepMs), keepFor(keepFailureMs));
      return entry.value;
    },
  };
}
