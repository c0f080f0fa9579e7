import { mayHoldScope, normaliseScope } from "../../auth/scopes.ts";
import { toRecord } from "../../control/settings.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import type { AddressGuard } from "../../lib/address.ts";
import { fromBase64Url } from "../../lib/base64.ts";
import { isObject } from "../../lib/json.ts";
import {
  AuthSettingsReply,
  type ShownAuthSettings,
  type StoredAuthSettings,
  UpdateAuthSettings,
} from "../../schemas/organisations.ts";
import { requireSecureUrl } from "../core/addresses.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import { refuseField } from "../core/request.ts";
import { changeOidc } from "./oidc-settings.ts";
import { findOrganisation } from "./organisation.ts";
import { mergeMembers } from "./workspace-settings.ts";

/** Values of absent settings. */
const defaults: Omit<ShownAuthSettings, "jwt_enabled"> = {
  jwks_url: null,
  jwks: null,
  algorithms: [],
  issuer: null,
  audience: null,
  default_scopes: [],
  max_token_age: null,
  clock_tolerance: null,
  oidc: null,
};

function toAuthSettings(stored: StoredAuthSettings): AnswerOf<typeof AuthSettingsReply> {
  const hasKeys = stored.jwks_url !== undefined || stored.jwks !== undefined;
  return { success: true, data: { jwt_enabled: hasKeys, ...defaults, ...stored } };
}

/** Most key set addresses, and most keys of a set. */
const most = { urls: 10, keys: 100 };

/** Comma-separated addresses of key sets, each validated as text; plain http only for hosts the operator trusts. */
function readKeySetUrls(text: string, guard: AddressGuard): string {
  const urls = text.split(",").map((url) => url.trim());
  if (urls.length > most.urls) refuseField("jwks_url", `must name at most ${most.urls} addresses`);
  for (const url of urls) {
    requireSecureUrl("jwks_url", guard, () => guard.checkTarget(url));
  }
  return urls.join(",");
}

/** Fields of private and of symmetric keys (RFC 7518, sections 6.2.2, 6.3.2 and 6.4.1; RFC 8037, section 2). */
const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/** Curves that ECDSA and EdDSA keys may have. */
const curves: Readonly<Record<string, readonly string[]>> = {
  EC: ["P-256", "P-384", "P-521"],
  OKP: ["Ed25519"],
};

/** Shortest modulus of an RSA key, in bits. */
const minimumRsaBits = 2_048;

function bitsOf(modulus: unknown): number {
  try {
    const bytes = fromBase64Url(String(modulus));
    const first = bytes.findIndex((byte) => byte !== 0);
    return first < 0 ? 0 : (bytes.length - first - 1) * 8 + (32 - Math.clz32(bytes[first] ?? 0));
  } catch {
    return 0;
  }
}

/** Refuses anything but a public key that can verify a signature. */
function requirePublicKey(key: unknown, param: string): void {
  if (!isObject(key)) throw refuseField(param, "must be a JSON Web Key");
  if (privateMembers.some((name) => Object.hasOwn(key, name)) || key.kty === "oct") {
    refuseField(param, "is not a public key: a private or symmetric key must never leave its owner");
  }
  if (typeof key.kid !== "string" || key.kid === "") refuseField(`${param}.kid`, "must be a string");
  if (key.kty === "RSA") {
    if (typeof key.e !== "string") refuseField(`${param}.e`, "must be a string");
    if (bitsOf(key.n) < minimumRsaBits) refuseField(`${param}.n`, `must have at least ${minimumRsaBits} bits`);
    return;
  }
  const allowed = curves[String(key.kty)];
  if (!allowed || !Object.hasOwn(curves, String(key.kty))) refuseField(`${param}.kty`, "must be RSA, EC or OKP");
  if (!allowed?.includes(String(key.crv))) refuseField(`${param}.crv`, `must be ${allowed?.join(", ")}`);
  for (const name of key.kty === "EC" ? ["x", "y"] : ["x"]) {
    if (typeof key[name] !== "string") refuseField(`${param}.${name}`, "must be a string");
  }
}

function requireKeySet({ keys }: Record<string, unknown>): void {
  if (!Array.isArray(keys) || keys.length === 0) throw refuseField("jwks.keys", "must be a list of at least one key");
  if (keys.length > most.keys) refuseField("jwks.keys", `must have at most ${most.keys} entries`);
  for (const [index, key] of keys.entries()) requirePublicKey(key, `jwks.keys.${index}`);
  const names = new Set(keys.map((key) => toRecord(key).kid));
  if (names.size < keys.length) refuseField("jwks.keys", "must have a different kid in each key");
}

/** Scopes as they are stored. */
function readScopes(scopes: readonly string[]): string[] {
  const read = scopes.map((text, index) => {
    const scope = normaliseScope(text);
    return mayHoldScope("token", scope) ? scope : refuseField(`default_scopes.${index}`, `tokens cannot hold ${text}`);
  });
  return [...new Set(read)];
}

async function updateAuthSettings(
  call: AdminCall<UpdateAuthSettings>,
): Promise<Outcome<AnswerOf<typeof AuthSettingsReply>>> {
  const {
    body,
    context: { services },
    stores,
    now,
  } = call;
  const row = await findOrganisation(call);
  if (body.jwks) requireKeySet(body.jwks);
  const { oidc: _, ...others } = body;
  const changes = {
    ...others,
    ...(body.jwks_url && { jwks_url: readKeySetUrls(body.jwks_url, services.addressGuard) }),
    ...(body.default_scopes && { default_scopes: readScopes(body.default_scopes) }),
    ...(body.algorithms && { algorithms: [...new Set(body.algorithms)] }),
  };
  const oidc = await changeOidc(call, row);
  const authSettings = mergeMembers(row.authSettings, { ...changes, ...(oidc && { oidc: oidc.stored }) });
  return {
    answer: toAuthSettings(authSettings),
    recordId: row.id,
    statements: [
      stores.organisations.update(row.id, { authSettings, lastUpdatedAt: now }),
      ...(oidc?.statements ?? []),
    ],
  };
}

const row = { tag: "Organisation", path: "/v1/organisations/:id/auth-settings" };
const access = (verb: string) => ({ keys: "admin" as const, scopes: [`organisation_settings.${verb}`] });

/** Endpoints for the verification of tokens of the organisation's identity provider. */
export const authSettingsEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    summary: "Show how tokens are verified",
    access: access("read"),
    response: AuthSettingsReply,
    handle: async (call) => toAuthSettings((await findOrganisation(call)).authSettings),
  }),
  defineWrite({
    ...row,
    method: "PUT",
    summary: "Change how tokens are verified",
    access: access("update"),
    audit: { resource: "organisations", action: "update_auth_settings", store: null },
    body: UpdateAuthSettings,
    response: AuthSettingsReply,
    handle: updateAuthSettings,
  }),
];
