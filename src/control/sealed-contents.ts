import { maskSecret } from "../auth/api-key.ts";
import type { ControlStores } from "../db/stores/control.ts";
import type { SecretRow } from "../db/tables/secrets.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { parseExact } from "../lib/exact-numbers.ts";
import { isObject, parseJson } from "../lib/json.ts";
import type { SecretPlace, Vault } from "./vault.ts";

/** Kinds of record whose content holds secrets between other members; also the kind of their sealed secrets. */
export type ContentKind = "configs" | "guardrails";

/** Which members of contents are secrets, and which say where requests go. */
export interface ContentRules {
  /** Settings of providers that are credentials. */
  secretSettings: ReadonlySet<string>;
  /** Settings of providers that shape an address. */
  addressSettings: ReadonlySet<string>;
}

/** A secret in a content: where it stands and what it is. */
interface FoundSecret {
  path: readonly string[];
  value: unknown;
  mask: string;
}

const wholeNames = new Set([
  ...["apikey", "authorization", "proxyauthorization", "clientsecret", "secret", "password", "passphrase", "token"],
  ...["privatekey", "accesskey", "credentials", "xapikey", "cookie"],
]);
const nameEnds = /(?:apikey|secret|password|passphrase|privatekey|accesskey|secretkey|accesstoken|authtoken)$/;
const urlName = /ur[il]$/i;
const moving = new Set(["provider", "virtual_key", "virtualKey", "custom_host", "customHost", "host"]);

function isSecretMember(name: string, { secretSettings }: ContentRules): boolean {
  const plain = name.toLowerCase().replace(/[_-]/g, "");
  return wholeNames.has(plain) || nameEnds.test(plain) || secretSettings.has(name.replaceAll("-", "_"));
}

/** An address without what may be secret in it: its user, its query and its fragment. */
function maskUrl(url: string): string | undefined {
  const shown = url.replace(/^([a-z]+:\/\/)[^/?#]*@/i, "$1*****@").replace(/[?#].*$/s, "?*****");
  return shown === url ? undefined : shown;
}

/** What stands in place of a member's value; undefined where it is no secret. */
function maskOf(name: string, value: unknown, rules: ContentRules, isHeader: boolean): string | undefined {
  if (value === null || value === "" || typeof value === "boolean" || typeof value === "number") return undefined;
  if (typeof value === "string" && urlName.test(name)) return maskUrl(value);
  const isSecret = isHeader || isSecretMember(name, rules);
  if (!isSecret) return undefined;
  if (typeof value === "string") return maskSecret(value);
  return rules.secretSettings.has(name) ? "*****" : undefined;
}

/** Headers of a check: every value may be a credential, and so may a text that holds all of them. */
const isHeaders = (path: readonly string[]) => path.at(-1) === "headers" && path.at(-2) === "parameters";

function findSecrets(value: unknown, rules: ContentRules, path: readonly string[] = []): FoundSecret[] {
  if (!isObject(value) && !Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const at = [...path, name];
    const mask = maskOf(name, member, rules, isHeaders(path) || (isHeaders(at) && typeof member === "string"));
    return mask === undefined ? findSecrets(member, rules, at) : [{ path: at, value: member, mask }];
  });
}

/** Texts that stand where a secret may, and that are masks of one. */
function findMasks(
  value: unknown,
  rules: ContentRules,
  path: readonly string[] = [],
): { path: readonly string[]; value: string }[] {
  if (!isObject(value) && !Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const at = [...path, name];
    if (typeof member !== "string") return findMasks(member, rules, at);
    const mayBe = urlName.test(name) || isSecretMember(name, rules) || isHeaders(path) || isHeaders(at);
    return mayBe && member.includes("*****") ? [{ path: at, value: member }] : [];
  });
}

const toField = (path: readonly string[]) => JSON.stringify(path);

function fromField(field: string): string[] {
  const path = parseJson(field);
  return Array.isArray(path) ? path.map(String) : [];
}

function readAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((held, name) => {
    const isHolder = isObject(held) || Array.isArray(held);
    return isHolder && Object.hasOwn(held, name) ? Reflect.get(held, name) : undefined;
  }, value);
}

/** A copy with another value at a place that is there. */
function withAt(value: unknown, [name, ...rest]: readonly string[], next: unknown): unknown {
  if (name === undefined) return next;
  if (Array.isArray(value))
    return value.map((item, index) => (String(index) === name ? withAt(item, rest, next) : item));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([own, member]) => [own, own === name ? withAt(member, rest, next) : member]),
  );
}

/** Everything above a place that says where the secret in it goes. */
function addressesAbove(content: unknown, path: readonly string[], { addressSettings }: ContentRules): string {
  const above = path.map((_, depth) => readAt(content, path.slice(0, depth)));
  const said = above.map((holder) =>
    Object.entries(isObject(holder) ? holder : {})
      .filter(([name]) => moving.has(name) || addressSettings.has(name.replaceAll("-", "_")) || urlName.test(name))
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  return JSON.stringify(said.filter((members) => members.length > 0));
}

/** A content whose secrets are known, or why it cannot be. */
export type Restored = { content: unknown } | { path: readonly string[]; problem: string };

/**
 * A content as its author means it: a mask stands for the secret it was shown for.
 *
 * @param former The content before, in clear.
 */
export function restoreSecrets(given: unknown, former: unknown, rules: ContentRules): Restored {
  const known = findSecrets(former, rules);
  const kept: { path: readonly string[]; from: FoundSecret }[] = [];
  let content = given;
  for (const { path, value } of findMasks(given, rules)) {
    const name = path.at(-1);
    const fitting = known.filter((secret) => secret.mask === value && secret.path.at(-1) === name);
    const from = fitting.find((secret) => toField(secret.path) === toField(path)) ?? fitting[0];
    if (!from) return { path, problem: "is a mask: give the secret itself" };
    content = withAt(content, path, from.value);
    kept.push({ path, from });
  }
  for (const { path, from } of kept) {
    if (addressesAbove(content, path, rules) === addressesAbove(former, from.path, rules)) continue;
    return { path, problem: "must be given again: the address it goes to changed" };
  }
  return { content };
}

/** A content as it is stored and shown: masks in place of secrets, and the secrets by their fields. */
export function maskContent(content: unknown, rules: ContentRules): { text: string; secrets: Map<string, string> } {
  const found = findSecrets(content, rules);
  const masked = found.reduce<unknown>((held, { path, mask }) => withAt(held, path, mask), content);
  const secrets = new Map(found.map(({ path, value }) => [toField(path), JSON.stringify(value)]));
  return { text: JSON.stringify(masked), secrets };
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

/** What is read of a version. */
interface ContentVersion {
  id: string;
  organisationId: string;
  content: string;
}

/** Opens contents; those without secrets are as they are stored. */
export interface ContentOpener {
  /** Contents in clear by the id of their version; one whose secrets cannot be opened is left out. */
  open(kind: ContentKind, versions: readonly ContentVersion[]): Promise<Map<string, string>>;
}

async function openOne({ content }: ContentVersion, rows: readonly SecretRow[], vault: Vault): Promise<string> {
  const { value: masked, write } = parseExact(content);
  let value = masked;
  for (const row of rows) value = withAt(value, fromField(row.field), parseJson(await vault.open(row)));
  return write(value);
}

/** Creates what opens contents. A version never changes, so that what was opened once is remembered for a while. */
export function createContentOpener(stores: Pick<ControlStores, "secrets">, vault: Vault): ContentOpener {
  const opened = new BoundedMap<string, string>(1_000);
  return {
    async open(kind, versions) {
      const [first] = versions;
      const unknown = versions.filter(({ id }) => !opened.get(id)).map(({ id }) => id);
      const tenant = { organisationId: first?.organisationId ?? "", workspaceId: null };
      const where = { kind, recordId: unknown };
      const rows = unknown.length === 0 ? [] : await stores.secrets.all(tenant, { where });
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
  };
}
