import { maskSecret } from "../auth/api-key.ts";
import type { ControlStores } from "../db/stores/control.ts";
import type { SecretRow } from "../db/tables/secrets.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { parseExact } from "../lib/exact-numbers.ts";
import { isObject, parseJson } from "../lib/json.ts";
import { toSnake } from "../lib/member-names.ts";
import { kindOfMember, plainName } from "../lib/secret-names.ts";
import { maskAddress } from "../lib/secret-values.ts";
import type { SecretPlace, Vault } from "./vault.ts";

/** Kinds of record whose content has embedded secrets; also the kind of the sealed secrets. */
export type ContentKind = "configs" | "guardrails";

/** Which fields of contents are secret, and which determine where requests go. */
export interface ContentRules {
  /** Provider settings that are credentials. */
  secretSettings: ReadonlySet<string>;
  /** Provider settings that are part of an address. */
  addressSettings: ReadonlySet<string>;
}

/** A secret in a content: its path and value. */
interface FoundSecret {
  path: readonly string[];
  value: unknown;
  mask: string;
}

const wholeNames = new Set([
  "apikey",
  "authorization",
  "proxyauthorization",
  "clientsecret",
  "secret",
  "password",
  "passphrase",
  "token",
  "privatekey",
  "accesskey",
  "credentials",
  "xapikey",
  "cookie",
]);
/** Fields with an address, whose path or query may be a credential. */
const urlName = /(?:ur[il]|custom_?host)$/i;
const moving = new Set(["provider", "virtual_key", "custom_host", "host"]);
/** Most secrets of one content: each is sealed separately. A config has up to 1,000 targets, each with a key or two. */
const maxSecrets = 2_000;
/** Most strings that may be masks: each is compared with the secrets. */
const maxMasks = 2 * maxSecrets;

/** A setting under the name its provider declares. */
const settingOf = (name: string) => toSnake(name).replaceAll("-", "_");

function isSecretMember(name: string, { secretSettings }: ContentRules): boolean {
  return wholeNames.has(plainName(name)) || kindOfMember(name) === "secret" || secretSettings.has(settingOf(name));
}

/** Headers may be credentials under any name; a list of header names to forward is not. */
const headersName = /^(?!forward).*headers$/;

/** Whether all strings of a field are secret: headers, and fields with secret names. Schemas only describe such fields. */
function isCarrier(path: readonly string[], rules: ContentRules): boolean {
  const name = path.at(-1);
  if (name === undefined || path.at(-2) === "properties") return false;
  return headersName.test(plainName(name)) || isSecretMember(name, rules);
}

/** The mask of an address; undefined where it holds no secret. */
function maskUrl(url: string): string | undefined {
  const shown = maskAddress(url);
  return shown === url ? undefined : shown;
}

/** Whether a string is JSON with a secret in it. */
function holdsSecrets(text: string, rules: ContentRules): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  const value = parseJson(text);
  return value !== undefined && findSecrets(value, rules).length > 0;
}

/** The mask of a field's value; undefined where it is not secret. */
function maskOf(path: readonly string[], value: unknown, rules: ContentRules): string | undefined {
  const name = path.at(-1) ?? "";
  if (typeof value !== "string") {
    return isObject(value) && rules.secretSettings.has(settingOf(name)) ? "*****" : undefined;
  }
  if (value === "") return undefined;
  if (isCarrier(path, rules) || isCarrier(path.slice(0, -1), rules)) return maskSecret(value);
  if (urlName.test(name)) return maskUrl(value);
  return holdsSecrets(value, rules) ? maskSecret(value) : undefined;
}

function findSecrets(value: unknown, rules: ContentRules, path: readonly string[] = []): FoundSecret[] {
  if (!isObject(value) && !Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const at = [...path, name];
    const mask = maskOf(at, member, rules);
    return mask === undefined ? findSecrets(member, rules, at) : [{ path: at, value: member, mask }];
  });
}

/** Strings that may be masks of secrets. */
function findMasks(value: unknown, path: readonly string[] = []): { path: readonly string[]; value: string }[] {
  if (typeof value === "string") return value.includes("*****") ? [{ path, value }] : [];
  if (!isObject(value) && !Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => findMasks(member, [...path, name]));
}

/** Whether a string that looks like a mask must be one: secrets and addresses never look like this. */
function mustBeMask(path: readonly string[], rules: ContentRules): boolean {
  return urlName.test(path.at(-1) ?? "") || isCarrier(path, rules) || isCarrier(path.slice(0, -1), rules);
}

const toField = (path: readonly string[]) => JSON.stringify(path);

function readAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((held, name) => {
    const isHolder = isObject(held) || Array.isArray(held);
    return isHolder && Object.hasOwn(held, name) ? Reflect.get(held, name) : undefined;
  }, value);
}

/** Replaces values by field; parts without any replacement stay the same object. */
function withAll(value: unknown, next: ReadonlyMap<string, unknown>, path: readonly string[] = []): unknown {
  if (next.size === 0) return value;
  const field = toField(path);
  if (next.has(field)) return next.get(field);
  if (!isObject(value) && !Array.isArray(value)) return value;
  const entries = Object.entries(value);
  const members = entries.map(([name, member]) => withAll(member, next, [...path, name]));
  if (members.every((member, index) => member === entries[index]?.[1])) return value;
  return Array.isArray(value) ? members : Object.fromEntries(entries.map(([name], index) => [name, members[index]]));
}

/** Everything above a path that determines where its secret is sent. */
function addressesAbove(content: unknown, path: readonly string[], { addressSettings }: ContentRules): string {
  const above = path.map((_, depth) => readAt(content, path.slice(0, depth)));
  const said = above.map((holder) =>
    Object.entries(isObject(holder) ? holder : {})
      .filter(([name]) => moving.has(settingOf(name)) || addressSettings.has(settingOf(name)) || urlName.test(name))
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  return JSON.stringify(said.filter((members) => members.length > 0));
}

/** A content with its secrets restored, or why that is impossible. */
type Restored = { content: unknown } | { path: readonly string[]; problem: string };

/**
 * Restores the secrets in a content: a mask stands for the secret it replaced.
 *
 * @param former The previous content, decrypted.
 */
export function restoreSecrets(given: unknown, former: unknown, rules: ContentRules): Restored {
  const known = Map.groupBy(findSecrets(former, rules), ({ mask }) => mask);
  const restored = new Map<string, { path: readonly string[]; from: FoundSecret }>();
  const masks = findMasks(given);
  if (masks.length > maxMasks) return { path: [], problem: `has more than ${maxMasks} strings with *****` };
  for (const { path, value } of masks) {
    const name = path.at(-1);
    const fitting = (known.get(value) ?? []).filter((secret) => secret.path.at(-1) === name);
    const from = fitting.find((secret) => toField(secret.path) === toField(path)) ?? fitting[0];
    if (from) restored.set(toField(path), { path, from });
    else if (mustBeMask(path, rules)) return { path, problem: "is a mask: give the secret itself" };
  }
  const content = withAll(given, new Map([...restored].map(([field, { from }]) => [field, from.value])));
  for (const { path, from } of restored.values()) {
    if (addressesAbove(content, path, rules) === addressesAbove(former, from.path, rules)) continue;
    return { path, problem: "must be given again: the address it is sent to changed" };
  }
  const count = findSecrets(content, rules).length;
  return count > maxSecrets
    ? { path: [], problem: `has ${count} credentials; ${maxSecrets} are the most` }
    : { content };
}

/** A content for storage and display: masks in place of secrets, and the secrets by field. */
export function maskContent(content: unknown, rules: ContentRules): { text: string; secrets: Map<string, string> } {
  const found = findSecrets(content, rules);
  const masked = withAll(content, new Map(found.map(({ path, mask }) => [toField(path), mask])));
  const secrets = new Map(found.map(({ path, value }) => [toField(path), JSON.stringify(value)]));
  return { text: JSON.stringify(masked), secrets };
}

/** A value for users who may read a content but not its secrets. */
export function showContent<Value extends object>(content: Value, rules: ContentRules): Value {
  const found = findSecrets(content, rules);
  // of the same shape: only strings are replaced
  return withAll(content, new Map(found.map(({ path, mask }) => [toField(path), mask]))) as Value;
}

/** The rows that seal the secrets of one version of a content. */
export function sealContent(
  vault: Vault,
  place: Omit<SecretPlace, "field">,
  secrets: ReadonlyMap<string, string>,
  now: number,
): Promise<SecretRow[]> {
  return Promise.all([...secrets].map(([field, text]) => vault.seal({ ...place, field }, text, now)));
}

/** The fields of a version that are read. */
interface ContentVersion {
  id: string;
  organisationId: string;
  content: string;
}

/** Decrypts contents; those without secrets are returned as stored. */
export interface ContentOpener {
  /**
   * Contents in clear by the id of their version; one whose secrets cannot be opened is left out.
   *
   * @param sealed Their sealed secrets; read from the database where the caller has not read them.
   */
  open(
    kind: ContentKind,
    versions: readonly ContentVersion[],
    sealed?: readonly SecretRow[],
  ): Promise<Map<string, string>>;
  /** A single secret; undefined if it cannot be opened. */
  text(row: SecretRow): Promise<string | undefined>;
}

async function openOne({ content }: ContentVersion, rows: readonly SecretRow[], vault: Vault): Promise<string> {
  const { value: masked, write } = parseExact(content);
  const values = new Map<string, unknown>();
  for (const row of rows) values.set(row.field, parseJson(await vault.open(row)));
  return write(withAll(masked, values));
}

/** Creates the opener. Versions never change, so opened ones are cached for a while. */
export function createContentOpener(stores: Pick<ControlStores, "secrets">, vault: Vault): ContentOpener {
  const opened = new BoundedMap<string, string>(1_000);
  const readSealed = async (kind: ContentKind, versions: readonly ContentVersion[]): Promise<SecretRow[]> => {
    const [first] = versions;
    const unknown = versions.filter(({ id }) => !opened.get(id)).map(({ id }) => id);
    const tenant = { organisationId: first?.organisationId ?? "", workspaceId: null };
    return unknown.length === 0 ? [] : stores.secrets.all(tenant, { where: { kind, recordId: unknown } });
  };
  return {
    async open(kind, versions, sealed) {
      const rows = sealed ?? (await readSealed(kind, versions));
      const found = await Promise.all(
        versions.map(async (version): Promise<[string, string][]> => {
          const own = rows.filter(({ recordId }) => recordId === version.id);
          const text = opened.get(version.id) ?? (own.length === 0 ? version.content : undefined);
          if (text !== undefined) return [[version.id, text]];
          try {
            const clear = await openOne(version, own, vault);
            opened.set(version.id, clear);
            return [[version.id, clear]];
          } catch {
            return [];
          }
        }),
      );
      return new Map(found.flat());
    },
    text: (row) => vault.open(row).catch(() => undefined),
  };
}
