import {
  createTokenAuthenticator,
  type TokenAuthenticator,
  type TokenAuthenticatorOptions,
  type TokenFailure,
} from "../auth/jwt.ts";
import type { OrganisationRow } from "../db/tables/tenants.ts";
import type { AddressGuard } from "../lib/address.ts";
import type { Clock } from "../lib/clock.ts";
import type { Outbound } from "../lib/outbound.ts";
import type { ControlPlane } from "./control-plane.ts";
import { createDocumentFetcher } from "./fetch-document.ts";
import type { IdentityLookUps } from "./identity-look-ups.ts";

/** The only organisation is looked up again after this long. */
const onlyForMs = 5_000;

/** The operator's settings for tokens. */
export interface TokenSettings {
  /** False: tokens count as wrong keys. Default true. */
  enabled?: boolean;
  /** Clock tolerance in seconds. Default 5. */
  clockSkewSeconds?: number;
  /** Ids of the only organisations whose tokens are accepted; by default all. */
  organisations?: readonly string[];
  /** Scopes that every token has in addition. */
  defaultScopes?: readonly string[];
}

/** Dependencies for verifying tokens. */
interface TokenParts {
  control: ControlPlane;
  outbound: Outbound;
  guard: AddressGuard;
  clock: Clock;
  settings: TokenSettings;
  lookUps: IdentityLookUps;
  /** Accepts a pending invitation for a verified address; true if there was one. */
  acceptInvite?: (organisationId: string, email: string) => Promise<boolean>;
}

/** Caches which organisation is the only one; another one created elsewhere is noticed within seconds. */
function createOnlyOrganisation(clock: Clock, read: () => Promise<OrganisationRow | undefined>) {
  let held: { id: string | undefined; readAt: number } | undefined;
  return {
    async get(): Promise<string | undefined> {
      if (held && clock.monotonic() - held.readAt < onlyForMs) return held.id;
      try {
        held = { id: (await read())?.id, readAt: clock.monotonic() };
      } catch (error) {
        if (!held) throw error;
      }
      return held?.id;
    },
    forget() {
      if (held) held.readAt = Number.NEGATIVE_INFINITY;
    },
  };
}

/** Writes the audit row for a rejected token, without the token. */
function auditFailure({ control, clock }: Pick<TokenParts, "control" | "clock">) {
  return async (organisationId: string, { token, reason, status, address }: TokenFailure): Promise<void> => {
    const audit = {
      time: clock.now(),
      requestId: "",
      method: "",
      uri: "",
      queryParams: "{}",
      requestHeaders: "{}",
      requestBody: JSON.stringify({ token_sha256: token, reason }),
      userId: `jwt_${token}`,
      userType: "api_key" as const,
      workspaceId: null,
      resourceType: "jwt",
      resourceId: token,
      action: "authenticate",
      responseStatusCode: status,
      clientIp: address,
      country: null,
    };
    await control.committer.run(organisationId, async () => ({ statements: [], audit }));
  };
}

/** Creates the authenticator for tokens of the organisations' identity providers; undefined if tokens are disabled. */
export function createTokens(parts: TokenParts): TokenAuthenticator | undefined {
  const { clock, control, settings, lookUps, acceptInvite } = parts;
  if (settings.enabled === false) return undefined;
  const only = createOnlyOrganisation(clock, control.known.organisations.only);
  const fetchDocument = createDocumentFetcher(parts);
  const options: TokenAuthenticatorOptions = {
    clock,
    organisation: lookUps.organisation,
    directory: lookUps.people,
    async onlyOrganisation() {
      const id = await only.get();
      return id === undefined ? undefined : lookUps.organisation(id);
    },
    fetchJson: async (url, bounds) => (await fetchDocument(url, bounds)).document,
    clockSkewSeconds: settings.clockSkewSeconds ?? 5,
    defaultScopes: settings.defaultScopes ?? [],
    organisationsToSync: (settings.organisations ?? []).map((id) => id.toLowerCase()),
    auditFailure: auditFailure(parts),
    checkDeployment: lookUps.checkDeployment,
    ...(acceptInvite && { acceptInvite }),
  };
  const tokens = createTokenAuthenticator(options);
  return {
    authenticate: (token, request) => tokens.authenticate(token, request),
    standingOf: (token) => tokens.standingOf(token),
    forget(organisationId) {
      only.forget();
      tokens.forget(organisationId);
    },
  };
}
