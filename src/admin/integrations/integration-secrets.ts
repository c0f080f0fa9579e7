import * as v from "valibot";
import { maskSecret } from "../../auth/api-key.ts";
import type { Services } from "../../context.ts";
import {
  configurationGroups,
  configurationPrefix,
  fromPaths,
  integrationSecretKind,
  splitPath,
  toPaths,
} from "../../control/integration-fields.ts";
import type { Statement } from "../../db/client.ts";
import type { JsonValue } from "../../db/tables/columns.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import { partnerForm } from "../../guardrails/partners/forms.ts";
import { AddressRefusedError, requireBaseUrl } from "../../lib/address.ts";
import { isHeaderName, isHeaderValue } from "../../lib/headers.ts";
import { firstPlainIssue } from "../../lib/issues.ts";
import { isObject, valueText } from "../../lib/json.ts";
import { isSecretHeader } from "../../lib/secret-names.ts";
import { looksRandom, maskAddress } from "../../lib/secret-values.ts";
import {
  type ConfigurationMember,
  commonMembers,
  type IntegrationForm,
  otherForm,
  requiredOfOauth,
} from "../../schemas/integration-members.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { isSecretName } from "../core/hide-secrets.ts";
import { toJson } from "../core/json-column.ts";
import { refuseField } from "../core/request.ts";

/** Settings and credentials as they are stored together: secrets as masks. */
export interface StoredCredentials {
  /** Settings that are not secret. */
  configurations: unknown;
  /** Masks by field. */
  masked: unknown;
}

/** New values; absent ones stay, null removes. */
export interface CredentialChanges {
  key?: string | null | undefined;
  /** Fields change one by one, those of `custom_headers` and `oauth` too. */
  configurations?: Readonly<Record<string, unknown>> | null | undefined;
}

/** Settings and credentials after a change. */
export interface Credentials {
  configurations: JsonValue;
  masked: Record<string, string>;
  /** Strings to encrypt by field. */
  secrets: ReadonlyMap<string, string>;
  /** Fields whose encrypted secret is removed. */
  removed: ReadonlySet<string>;
  /** Address fields that changed: they say where requests go. */
  moved: readonly MovedAddress[];
}

/** An address field that changed. */
interface MovedAddress {
  /** Its name for the caller. */
  param: string;
  /** Prefixes of the fields whose secrets are sent there. */
  fields: string;
}

/** What a change is validated against. */
export interface CredentialRules {
  services: Pick<Services, "addressGuard" | "contentRules" | "headerRules" | "redactor">;
  form: IntegrationForm;
  /** The owner of the settings in messages. */
  owner: string;
  /** How messages name a configuration. Default `configurations.<path>`. */
  paramOf?: (path: string) => string;
  /** Prefix of a path in the field of its secret. */
  prefix?: string;
  /** Fields besides those of the form. Default `commonMembers`. */
  common?: Readonly<Record<string, ConfigurationMember>>;
  /** Groups whose members are headers. Default `custom_headers`. */
  headerGroups?: ReadonlySet<string>;
}

const customHeaders: ReadonlySet<string> = new Set(["custom_headers"]);

/** Most characters stored in clear. */
const maxPlainLength = 65_536;
const maxHeaders = 100;
const maxHeaderLength = 8_192;
const maxSecretLength = 16_384;

/** The fields integrations of a provider accept. */
export function formOf(
  aiProviderId: string,
  { providers, providerRules }: Pick<Services, "providerRules" | "providers">,
): IntegrationForm {
  return (
    providers.get(providerRules.aliases.get(aiProviderId) ?? aiProviderId)?.integrationForm ??
    partnerForm(aiProviderId) ??
    otherForm
  );
}

/** Strings by name, as a JSON column holds them. */
function readText(value: unknown): Map<string, string> {
  const entries = Object.entries(isObject(value) ? value : {});
  return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

const credentialName = /auth|token|secret|passw|passphrase|cookie|credential|session|key|signature|jwt/;

/** Whether a header carries a credential: by its name, its scheme or its form. */
function isCredentialHeader(name: string, value: string, services: Pick<Services, "redactor">): boolean {
  return (
    credentialName.test(name) ||
    isSecretHeader(name.toLowerCase()) ||
    /^(?:basic|bearer|digest|token)\s/i.test(value) ||
    looksRandom(value) ||
    services.redactor.text(value) !== value
  );
}

function checkHeader(
  name: string,
  value: unknown,
  param: string,
  { headerRules }: Pick<Services, "headerRules">,
): void {
  if (!isHeaderName(name) || name.length > 255 || !headerRules.mayGoUpstream(name)) {
    refuseField(param, "is not a header that can be sent to a provider");
  }
  if (typeof value !== "string") throw refuseField(param, "must be a string");
  if (value.length > maxHeaderLength) refuseField(param, `must have at most ${maxHeaderLength} characters`);
  if (!isHeaderValue(value)) refuseField(param, "must not contain control characters");
}

function checkAddress(
  text: string,
  kind: "base" | "url",
  param: string,
  { addressGuard }: Pick<Services, "addressGuard">,
): void {
  try {
    if (kind === "base") requireBaseUrl(addressGuard, text);
    else addressGuard.checkUrl(text);
  } catch (error) {
    if (!(error instanceof AddressRefusedError)) throw error;
    refuseField(param, error.reason);
  }
}

/** Whether a field is a base address: one whose path may be a credential is sealed, and its mask shows the rest. */
const isBase = (member: ConfigurationMember | undefined): boolean => member?.address === "base";

/** Whether a value holds a secret too deep to be encrypted. */
function hidesSecret(value: unknown, settings: ReadonlySet<string>): boolean {
  if (Array.isArray(value)) return value.some((item) => hidesSecret(item, settings));
  if (!isObject(value)) return false;
  return Object.entries(value).some(([name, inner]) => isSecretName(name, settings) || hidesSecret(inner, settings));
}

/** A valid value of `configurations`; `secret` when it has to be encrypted. */
function checkValue(
  path: string,
  value: unknown,
  member: ConfigurationMember | undefined,
  { services, paramOf = defaultParam, headerGroups = customHeaders }: CredentialRules,
): { secret: boolean } {
  const { group = "", name } = splitPath(path);
  const param = paramOf(path);
  const { secretSettings } = services.contentRules;
  if (headerGroups.has(group)) {
    checkHeader(name, value, param, services);
    return { secret: isCredentialHeader(name, String(value), services) };
  }
  if (member) {
    const checked = v.safeParse(member.schema, value, firstPlainIssue);
    if (!checked.success) {
      const inner = v.getDotPath(checked.issues[0]);
      refuseField(inner === null ? param : `${param}.${inner}`, checked.issues[0].message);
    }
    if (member.address) checkAddress(String(value), member.address, param, services);
    if (member.secret || (isBase(member) && maskAddress(String(value)) !== value)) return { secret: true };
  } else if (isSecretName(name, secretSettings)) return { secret: true };
  if (hidesSecret(value, secretSettings))
    refuseField(param, "holds a secret too deep: make it a field of configurations");
  const text = valueText(value);
  if (services.redactor.text(text) === text) return { secret: false };
  return typeof value === "string" ? { secret: true } : refuseField(param, "holds a secret: make it a string");
}

function defaultParam(path: string): string {
  return `${configurationPrefix}${path}`;
}

/** New values by path. Masks that were read and sent back are left out. */
function readChanges(configurations: Readonly<Record<string, unknown>>, rules: CredentialRules): [string, unknown][] {
  const { paramOf = defaultParam, headerGroups = customHeaders } = rules;
  for (const group of configurationGroups) {
    const value = Object.hasOwn(configurations, group) ? configurations[group] : undefined;
    if (value !== undefined && value !== null && !isObject(value)) refuseField(paramOf(group), "must be an object");
  }
  return [...toPaths(configurations)].flatMap(([path, value]): [string, unknown][] => {
    const { group = "", name } = splitPath(path);
    if (name.startsWith("masked_")) return [];
    const isHeader = headerGroups.has(group);
    const isKnown = isHeader || memberOf(path, rules) !== undefined;
    if (!isKnown && value !== null) refuseField(paramOf(path), `is not a setting of ${rules.owner}`);
    return [[isHeader ? path.toLowerCase() : path, value]];
  });
}

/** What is known of a field; undefined for an unknown one. */
function memberOf(
  path: string,
  { form, common = commonMembers }: Pick<CredentialRules, "common" | "form">,
): ConfigurationMember | undefined {
  return [form.members, common].find((members) => Object.hasOwn(members, path))?.[path];
}

/** The stored values while they are changed. */
function openDraft(stored: StoredCredentials | undefined, prefix: string) {
  const plain = toPaths(stored?.configurations);
  const masked = readText(stored?.masked);
  const secrets = new Map<string, string>();
  const removed = new Set<string>();
  const dropField = (field: string) => {
    if (masked.delete(field)) removed.add(field);
    secrets.delete(field);
  };
  // header names may contain dots: only a group has paths below it
  const isAt = (path: string, at: string) => path === at || (!at.includes(".") && path.startsWith(`${at}.`));
  return {
    plain,
    masked,
    secrets,
    removed,
    dropField,
    /** Removes a path and all paths below it. */
    drop(at: string) {
      for (const path of [...plain.keys()]) if (isAt(path, at)) plain.delete(path);
      for (const field of [...masked.keys()])
        if (field.startsWith(prefix) && isAt(field.slice(prefix.length), at)) dropField(field);
    },
    keepSecret(field: string, text: string, mask = maskSecret(text)) {
      dropField(field);
      masked.set(field, mask);
      secrets.set(field, text);
    },
  };
}

/**
 * Settings and credentials after a change.
 *
 * @throws {InvalidRequestError} AB01, naming the field that is wrong. No message holds a value.
 */
export function changeCredentials(
  stored: StoredCredentials | undefined,
  { key, configurations }: CredentialChanges,
  rules: CredentialRules,
): Credentials {
  const { paramOf = defaultParam, prefix = configurationPrefix, headerGroups = customHeaders } = rules;
  const draft = openDraft(stored, prefix);
  if (key === null) draft.dropField("key");
  else if (key !== undefined) draft.keepSecret("key", key);
  if (configurations === null) {
    draft.plain.clear();
    for (const field of [...draft.masked.keys()]) if (field.startsWith(prefix)) draft.dropField(field);
  }
  for (const [path, value] of readChanges(configurations ?? {}, rules)) {
    const [member, field] = [memberOf(path, rules), `${prefix}${path}`];
    // readers see the mask of an address, and may send it back
    if (isBase(member) && value === draft.masked.get(field)) continue;
    draft.drop(path);
    if (value === null || value === undefined) continue;
    const { secret } = checkValue(path, value, member, rules);
    if (!secret) draft.plain.set(path, value);
    else if (valueText(value).length > maxSecretLength)
      refuseField(paramOf(path), `must have at most ${maxSecretLength} characters`);
    else draft.keepSecret(field, valueText(value), isBase(member) ? maskAddress(valueText(value)) : undefined);
  }
  const { plain, masked, secrets, removed } = draft;
  for (const group of headerGroups) {
    const headers = [...plain.keys(), ...masked.keys()].filter((path) => path.includes(`${group}.`));
    if (headers.length > maxHeaders) refuseField(paramOf(group), `must have at most ${maxHeaders} entries`);
  }
  const content = fromPaths(plain);
  if (JSON.stringify(content).length > maxPlainLength) {
    refuseField("configurations", `must have at most ${maxPlainLength} characters`);
  }
  const sealed = [...secrets.keys(), ...removed].map((field) => field.slice(prefix.length));
  const moved = findMoved(stored, { plain, sealed: new Set(sealed) }, rules);
  return { configurations: toJson(content), masked: Object.fromEntries(masked), secrets, removed, moved };
}

/** Address fields whose value changed; `sealed` are the paths whose sealed value did. */
function findMoved(
  stored: StoredCredentials | undefined,
  { plain, sealed }: { plain: ReadonlyMap<string, unknown>; sealed: ReadonlySet<string> },
  rules: CredentialRules,
): MovedAddress[] {
  const { paramOf = defaultParam, prefix = configurationPrefix } = rules;
  const before = toPaths(stored?.configurations);
  const shapes = (path: string) => {
    const member = memberOf(path, rules);
    return member?.shapesAddress === true || member?.address !== undefined;
  };
  const isChanged = (path: string) =>
    sealed.has(path) || JSON.stringify(before.get(path)) !== JSON.stringify(plain.get(path));
  return [...new Set([...before.keys(), ...plain.keys(), ...sealed])]
    .filter((path) => shapes(path) && isChanged(path))
    .map((path) => {
      const { group } = splitPath(path);
      return { param: paramOf(path), fields: group === undefined ? "" : `${prefix}${group}.` };
    });
}

/**
 * Refuses to send stored secrets elsewhere: whoever may change an address need not know them.
 *
 * @param parts Everything stored together with the moved address, after the change.
 * @param mapped Fields mapped from external secrets that the change does not name again.
 * @throws {InvalidRequestError} AB01, naming the address and the secrets that must be given again.
 */
export function requireSecretsWithAddress(
  parts: readonly Pick<Credentials, "masked" | "secrets" | "moved">[],
  mapped: ReadonlySet<string> = new Set(),
): void {
  const stored = parts.flatMap(({ masked, secrets }) => Object.keys(masked).filter((field) => !secrets.has(field)));
  for (const { param, fields } of parts.flatMap(({ moved }) => moved)) {
    // a group may be mapped as a whole
    const left = [...stored, ...mapped].filter((field) => `${field}.`.startsWith(fields));
    if (left.length === 0) continue;
    refuseField(param, `cannot change alone: send again the secrets that go there: ${left.join(", ")}`);
  }
}

/** Fields that are required for a value of another one. */
function requiredByChoice({ required, absent }: NonNullable<IntegrationForm["choice"]>, value: unknown) {
  if (value === undefined) return absent;
  const chosen = String(value);
  return Object.hasOwn(required, chosen) ? required[chosen] : [];
}

/**
 * Checks that a provider has all it needs: stored, given now, or mapped from an external secret.
 *
 * @throws {InvalidRequestError} AB01, naming what is missing.
 */
export function requireComplete(
  { configurations, masked }: Pick<Credentials, "configurations" | "masked">,
  mapped: ReadonlySet<string>,
  { form, paramOf = defaultParam }: CredentialRules,
): void {
  const plain = toPaths(configurations);
  const isThere = (path: string) => {
    const field = path === "key" ? path : `${configurationPrefix}${path}`;
    return Object.hasOwn(masked, field) || mapped.has(field) || plain.has(path);
  };
  const { required, choice } = form;
  const ofChoice = choice && requiredByChoice(choice, plain.get(choice.member));
  const hasOauth = [...plain.keys(), ...Object.keys(masked)].some((path) =>
    path.replace(configurationPrefix, "").startsWith("oauth."),
  );
  // a custom host may need no key, and a token replaces it
  const needsNoKey = isThere("custom_host") || hasOauth;
  for (const path of [...required, ...(ofChoice ?? []), ...(hasOauth ? requiredOfOauth : [])]) {
    if (isThere(path) || (path === "key" && needsNoKey)) continue;
    refuseField(path === "key" ? path : paramOf(path), "must be given for this provider");
  }
}

/** Changes in which an address that is stored sealed, and is sent back in clear, stands as its mask: it stays. */
export async function keepAddresses<Changes extends Pick<CredentialChanges, "configurations">>(
  { stores, context }: AdminCall<unknown>,
  changes: Changes,
  { masked, place, prefix = configurationPrefix }: { masked: unknown; place: SecretPlace; prefix?: string },
): Promise<Changes> {
  const { organisationId, workspaceId, recordId, kind = integrationSecretKind } = place;
  const masks = readText(masked);
  const paths = toPaths(changes.configurations);
  let isKept = false;
  for (const [path, value] of paths) {
    const field = `${prefix}${path}`;
    const mask = masks.get(field);
    if (typeof value !== "string" || mask === undefined || value === mask || maskAddress(value) !== mask) continue;
    const sealed = await stores.secrets.find({ organisationId, workspaceId }, { kind, recordId, field });
    // where it cannot be opened any more, it is given again
    const stored = sealed && (await context.services.control.vault.open(sealed).catch(() => undefined));
    if (value !== stored) continue;
    paths.set(path, mask);
    isKept = true;
  }
  return isKept ? { ...changes, configurations: fromPaths(paths) } : changes;
}

/** The record that secrets belong to. */
type SecretPlace = Tenant & { recordId: string; kind?: string };

/** Statements that encrypt the secrets after a change. */
export async function sealSecrets(
  { stores, context: { services }, now }: AdminCall<unknown>,
  place: SecretPlace,
  changes: readonly Pick<Credentials, "secrets" | "removed">[],
): Promise<Statement[]> {
  const { organisationId, workspaceId, recordId, kind = integrationSecretKind } = place;
  const tenant = { organisationId, workspaceId };
  const strings = changes.flatMap(({ secrets }) => [...secrets]);
  const gone = [...new Set(changes.flatMap(({ secrets, removed }) => [...removed, ...secrets.keys()]))];
  const rows = await Promise.all(
    strings.map(([field, text]) => services.control.vault.seal({ ...tenant, kind, recordId, field }, text, now)),
  );
  return [
    ...(gone.length > 0 ? [stores.secrets.remove(tenant, { workspaceId, kind, recordId, field: gone })] : []),
    ...rows.map((row) => stores.secrets.insert(tenant, row)),
  ];
}

/** Settings as responses show them: secrets as masks under separate names. */
export function showConfigurations(
  { configurations, masked }: StoredCredentials,
  prefix: string = configurationPrefix,
): Record<string, unknown> {
  const masks = [...readText(masked)].flatMap(([field, mask]): [string, string][] => {
    if (!field.startsWith(prefix)) return [];
    const { group, name } = splitPath(field.slice(prefix.length));
    return [[`${group === undefined ? "" : `${group}.`}masked_${name}`, mask]];
  });
  return fromPaths([...toPaths(configurations), ...masks]);
}

/** The mask of an integration's key; null without one. */
export function showKey({ masked }: Pick<StoredCredentials, "masked">): string | null {
  return readText(masked).get("key") ?? null;
}
