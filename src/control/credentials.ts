import { BoundedMap } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";
import { isObject, parseJson } from "../lib/json.ts";
import { configurationPrefix, fromPaths, toPaths } from "./integration-fields.ts";
import type { StoredProvider } from "./provider-library.ts";
import { openAuthSecrets } from "./secret-managers/open.ts";
import type { SecretResolver } from "./secret-managers/resolver.ts";
import { CredentialUnavailableError, type Vault } from "./vault.ts";

/** What an integration gives to a call, in clear. */
export interface ManagedCredential {
  /** The provider's key. */
  key: string | undefined;
  /** Members of its configurations, secrets included, as texts; other members are left out. */
  settings: ReadonlyMap<string, string>;
  customHost: string | undefined;
  customHeaders: Readonly<Record<string, string>>;
  /** Secret headers of single models, by the beginning of their field. */
  modelHeaders: ReadonlyMap<string, string>;
  /** Every text among its secrets, those inside of JSON too. */
  secrets: readonly string[];
}

/** Opens the credentials of integrations. */
export interface Credentials {
  /**
   * The credential of a stored provider; at once when it was used lately.
   *
   * @throws {CredentialUnavailableError} If it cannot be opened, or a store outside does not give it.
   */
  of(stored: StoredProvider): ManagedCredential | Promise<ManagedCredential>;
  /**
   * What is known of it without asking stores outside: what they keep is left out, unless it is in memory.
   *
   * @throws {CredentialUnavailableError} If it cannot be opened.
   */
  withinReach(stored: StoredProvider): ManagedCredential | Promise<ManagedCredential>;
}

/** What opens credentials. */
interface CredentialsOptions {
  vault: Vault;
  clock: Clock;
  resolver: SecretResolver;
}

/** Longest a credential stays in memory in clear. */
const keptForMs = 5 * 60_000;

/** A secret from a store outside, and where it goes. */
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

/** A member of configurations as a text; undefined for what is no setting. */
function toSetting(value: unknown): string | undefined {
  if (["string", "number", "boolean"].includes(typeof value)) return String(value);
  return isObject(value) || Array.isArray(value) ? JSON.stringify(value) : undefined;
}

/** The texts in a value that is secret as a whole; one that is JSON is looked into. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") {
    const inner = /^\s*[[{]/.test(value) ? parseJson(value) : undefined;
    return [value, ...(inner === undefined ? [] : textsIn(inner))];
  }
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isObject(value) ? Object.values(value).flatMap(textsIn) : [];
}

/** Puts secrets and plain members together. */
function assemble(stored: StoredProvider, secrets: ReadonlyMap<string, unknown>): ManagedCredential {
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
  return {
    key: key === undefined ? undefined : String(key),
    settings: new Map(settings),
    customHost: typeof host === "string" && host !== "" ? host : undefined,
    customHeaders: toHeaders(headers),
    modelHeaders,
    secrets: [...secrets.values()].flatMap(textsIn),
  };
}

/** Field of an integration's key. */
const keyField = "key";

/** Creates the opener. */
export function createCredentials({ vault, clock, resolver }: CredentialsOptions): Credentials {
  // by the id of the integration, a random UUID; `source` tells whether its secrets were read again since
  const known = new BoundedMap<string, { value: ManagedCredential; source: object; openedAt: number }>(1_000);

  const resolve = async (stored: StoredProvider, mapping: Mapping): Promise<unknown> => {
    const reference = stored.references.find(({ row }) => [row.id, row.slug].includes(mapping.reference));
    if (!reference) throw new CredentialUnavailableError(new Error("its secret reference is gone"));
    const open = () => openAuthSecrets(reference.secrets, vault);
    const text = await resolver.resolve(reference.row, open, { secretKey: mapping.secretKey }).catch((cause) => {
      throw new CredentialUnavailableError(cause);
    });
    return mapping.asJson ? (parseJson(text) ?? text) : text;
  };
  const openOwn = (stored: StoredProvider) =>
    Promise.all(stored.secrets.map(async (row) => [row.field, await vault.open(row)] as const));
  const open = async (stored: StoredProvider): Promise<ManagedCredential> => {
    const mappings = readMappings(stored.integration.secretMappings);
    const outside = mappings.map(async (mapping) => [mapping.target, await resolve(stored, mapping)] as const);
    const [own, ofStores] = await Promise.all([openOwn(stored), Promise.all(outside)]);
    const value = assemble(stored, new Map<string, unknown>([...own, ...ofStores]));
    known.set(stored.integration.id, { value, source: stored.secrets, openedAt: clock.monotonic() });
    return value;
  };
  const find = (stored: StoredProvider): ManagedCredential | undefined => {
    const entry = known.get(stored.integration.id);
    const isFresh = entry?.source === stored.secrets && clock.monotonic() - entry.openedAt < keptForMs;
    return isFresh ? entry.value : undefined;
  };
  return {
    of: (stored) => find(stored) ?? open(stored),
    withinReach: (stored) => find(stored) ?? openOwn(stored).then((own) => assemble(stored, new Map(own))),
  };
}
