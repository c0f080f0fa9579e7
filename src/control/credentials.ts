import type { SecretRow } from "../db/tables/secrets.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";
import { isObject, parseJson } from "../lib/json.ts";
import { ReplacementBound } from "../lib/replacement-bound.ts";
import { looksRandom, secretSegments, withoutScheme } from "../lib/secret-values.ts";
import { configurationPrefix, fromPaths, toPaths } from "./integration-fields.ts";
import type { StoredProvider, StoredReference, UsableIntegration } from "./provider-library.ts";
import { openAuthSecrets } from "./secret-managers/open.ts";
import type { SecretResolver } from "./secret-managers/resolver.ts";
import { CredentialUnavailableError, type Vault } from "./vault.ts";

/** The decrypted credential of an integration. */
export interface ManagedCredential {
  /** The provider's key. */
  key: string | undefined;
  /** Fields of its configurations, secrets included, as strings; others are left out. */
  settings: ReadonlyMap<string, string>;
  customHost: string | undefined;
  customHeaders: Readonly<Record<string, string>>;
  /** Secret headers and hosts of single models, by field. */
  modelHeaders: ReadonlyMap<string, string>;
  /** Every secret string, including those inside JSON. */
  secrets: readonly string[];
}

/** What the credential of an integration is opened from. */
type Opened = Pick<UsableIntegration, "integration" | "secrets" | "references">;

/** Opens the credentials of integrations. */
export interface Credentials {
  /**
   * The credential of a stored provider; synchronous if cached.
   *
   * @throws {CredentialUnavailableError} If it cannot be decrypted, or an external store does not return it.
   */
  of(stored: Opened): ManagedCredential | Promise<ManagedCredential>;
  /**
   * The credential, read from external stores once more, because its provider refused the one given. Parallel calls share
   * one reading; a credential that is refused again and again is read every 20 seconds.
   *
   * @returns Undefined where it is the same as before, or cannot be read now.
   */
  renew(stored: Opened, refused: ManagedCredential): Promise<ManagedCredential | undefined>;
  /**
   * The credential without calls to external stores: secrets stored there are left out unless cached.
   *
   * @throws {CredentialUnavailableError} If it cannot be decrypted.
   */
  withinReach(stored: StoredProvider): ManagedCredential | Promise<ManagedCredential>;
}

/** Options for opening credentials. */
interface CredentialsOptions {
  clock: Clock;
  opener: SecretOpener;
}

/** The secrets of a record: its own, and those that lie in stores outside. */
interface SecretSource {
  /** Its own, sealed. */
  readonly secrets: readonly SecretRow[];
  /** Where further ones lie: `secret_mappings` as stored. */
  readonly mappings: unknown;
  readonly references: readonly StoredReference[];
}

/** Opens the secrets of records. */
export interface SecretOpener {
  /** Its own secrets by field. @throws {CredentialUnavailableError} If one cannot be decrypted. */
  own(source: SecretSource): Promise<(readonly [field: string, secret: unknown])[]>;
  /**
   * All secrets by field.
   *
   * @param options.isRefused What external stores returned before is not used. Default: false.
   * @throws {CredentialUnavailableError} If one is not available.
   */
  all(source: SecretSource, options?: { isRefused?: boolean }): Promise<ReadonlyMap<string, unknown>>;
}

/** Longest time a decrypted credential stays in memory. */
export const heldOpenMs = 5 * 60_000;

/** A secret in an external store, and the field it is for. */
interface Mapping {
  target: string;
  reference: string;
  secretKey: string | null;
  asJson: boolean;
}

function readMappings(value: unknown): Mapping[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isObject).map((mapping) => ({
    target: String(mapping.target_field),
    reference: String(mapping.secret_reference_id),
    secretKey: typeof mapping.secret_key === "string" ? mapping.secret_key : null,
    asJson: mapping.value_format === "json",
  }));
}

function toHeaders(value: unknown): Record<string, string> {
  const headers = typeof value === "string" ? parseJson(value) : value;
  if (!isObject(headers)) return {};
  return Object.fromEntries(Object.entries(headers).map(([name, text]) => [name.toLowerCase(), String(text)]));
}

/** A configuration value as a string; undefined for other values. */
function toSetting(value: unknown): string | undefined {
  if (["string", "number", "boolean"].includes(typeof value)) return String(value);
  return isObject(value) || Array.isArray(value) ? JSON.stringify(value) : undefined;
}

/** The strings in a secret value; JSON is parsed. */
function stringsIn(value: unknown): string[] {
  if (typeof value === "string") {
    const inner = /^\s*[[{]/.test(value) ? parseJson(value) : undefined;
    return [value, ...(inner === undefined ? [] : stringsIn(inner))];
  }
  if (Array.isArray(value)) return value.flatMap(stringsIn);
  return isObject(value) ? Object.values(value).flatMap(stringsIn) : [];
}

/** Combines secrets and plain fields. */
function assemble(stored: Opened, secrets: ReadonlyMap<string, unknown>): ManagedCredential {
  const paths = toPaths(stored.integration.configurations);
  const modelHeaders = new Map<string, string>();
  for (const [field, value] of secrets) {
    if (field.startsWith(configurationPrefix)) paths.set(field.slice(configurationPrefix.length), value);
    else if (field !== keyField) modelHeaders.set(field, String(value));
  }
  const { custom_host: host, custom_headers: headers, ...others } = fromPaths(paths);
  const settings = Object.entries(others).flatMap(([name, value]): [string, string][] => {
    const text = toSetting(value);
    return text === undefined ? [] : [[name, text]];
  });
  const key = secrets.get(keyField);
  const plainHost = typeof host === "string" ? secretSegments(host) : [];
  return {
    key: key === undefined ? undefined : String(key),
    settings: new Map(settings),
    customHost: typeof host === "string" && host !== "" ? host : undefined,
    customHeaders: toHeaders(headers),
    modelHeaders,
    // who repeats a header may leave out its scheme, or of an address all but its path, and older ones were stored in clear
    secrets: [...secrets.values(), ...Object.values(toHeaders(headers)).filter(looksRandom), ...plainHost]
      .flatMap(stringsIn)
      .flatMap((text) => [...new Set([text, withoutScheme(text), ...secretSegments(text)])]),
  };
}

function isSame(one: ManagedCredential, other: ManagedCredential): boolean {
  return JSON.stringify(one.secrets) === JSON.stringify(other.secrets);
}

/** Field of an integration's key. */
const keyField = "key";

/** Creates what opens the secrets of records. */
export function createSecretOpener({ vault, resolver }: { vault: Vault; resolver: SecretResolver }): SecretOpener {
  const resolve = async (source: SecretSource, mapping: Mapping, isRefused: boolean): Promise<unknown> => {
    const reference = source.references.find(({ row }) => [row.id, row.slug].includes(mapping.reference));
    if (!reference) throw new CredentialUnavailableError(new Error("its secret reference was deleted"));
    const open = () => openAuthSecrets(reference.secrets, vault);
    const options = { secretKey: mapping.secretKey, isRefused };
    const text = await resolver.resolve(reference.row, open, options).catch((cause) => {
      throw new CredentialUnavailableError(cause);
    });
    return mapping.asJson ? (parseJson(text) ?? text) : text;
  };
  const own: SecretOpener["own"] = (source) =>
    Promise.all(source.secrets.map(async (row) => [row.field, await vault.open(row)] as const));
  return {
    own,
    async all(source, { isRefused = false } = {}) {
      const outside = readMappings(source.mappings).map(
        async (mapping) => [mapping.target, await resolve(source, mapping, isRefused)] as const,
      );
      const [ofRecord, ofStores] = await Promise.all([own(source), Promise.all(outside)]);
      return new Map<string, unknown>([...ofRecord, ...ofStores]);
    },
  };
}

/** Creates the cache of opened credentials. */
export function createCredentials({ clock, opener }: CredentialsOptions): Credentials {
  // keyed by the integration's id, a random UUID; `source` changes when its secrets were reloaded
  const known = new BoundedMap<string, { value: ManagedCredential; source: object; openedAt: number }>(1_000);

  const sourceOf = ({ secrets, references, integration }: Opened): SecretSource => ({
    secrets,
    references,
    mappings: integration.secretMappings,
  });
  const open = async (stored: Opened, options?: { isRefused: boolean }): Promise<ManagedCredential> => {
    const value = assemble(stored, await opener.all(sourceOf(stored), options));
    known.set(stored.integration.id, { value, source: stored.secrets, openedAt: clock.monotonic() });
    return value;
  };
  const find = (stored: Opened): ManagedCredential | undefined => {
    const entry = known.get(stored.integration.id);
    const isFresh = entry?.source === stored.secrets && clock.monotonic() - entry.openedAt < heldOpenMs;
    return isFresh ? entry.value : undefined;
  };
  const renewals = new ReplacementBound(clock);
  const renewing = new Map<string, Promise<ManagedCredential>>();
  const reread = (stored: Opened): Promise<ManagedCredential> | undefined => {
    const { id } = stored.integration;
    const running = renewing.get(id);
    if (running || !renewals.take(id)) return running;
    const reading = open(stored, { isRefused: true }).finally(() => renewing.delete(id));
    renewing.set(id, reading);
    return reading;
  };
  return {
    of: (stored) => find(stored) ?? open(stored),
    async renew(stored, refused) {
      const current = find(stored);
      // another call has read it meanwhile
      const read = current && current !== refused ? current : await reread(stored)?.catch(() => undefined);
      return read && !isSame(read, refused) ? read : undefined;
    },
    withinReach: (stored) => find(stored) ?? opener.own(sourceOf(stored)).then((own) => assemble(stored, new Map(own))),
  };
}
