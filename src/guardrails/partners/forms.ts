import { toSnake } from "../../lib/member-names.ts";
import { type ConfigurationMember, type IntegrationForm, PlainText } from "../../schemas/integration-members.ts";
import { partnerChecks } from "./client.ts";
import { BaseUrl } from "./simple-partners.ts";
import type { CredentialField, Partner } from "./types.ts";

/** Partners by slug. */
const partners: ReadonlyMap<string, Partner> = new Map(partnerChecks.map(({ partner }) => [partner.slug, partner]));

/** Name of a credential in the configurations of an integration. */
function settingOf(name: string): string {
  return toSnake(name).toLowerCase();
}

function toMember({ secret, isAddress, schema = PlainText }: CredentialField): ConfigurationMember {
  return {
    schema,
    ...(secret !== undefined && { secret: true }),
    ...(isAddress && { shapesAddress: true }),
    ...(schema === BaseUrl && { address: "base" }),
  };
}

function toForm({ credentials }: Partner): IntegrationForm {
  const fields = Object.entries(credentials);
  const isKey = ([, { secret }]: (typeof fields)[number]) => secret === "key";
  return {
    members: Object.fromEntries(
      fields.filter((field) => !isKey(field)).map(([name, field]) => [settingOf(name), toMember(field)]),
    ),
    required: fields
      .filter(([, { isOptional }]) => isOptional !== true)
      .map((field) => (isKey(field) ? "key" : settingOf(field[0]))),
  };
}

/** Fields of integrations by partner. */
const forms: ReadonlyMap<string, IntegrationForm> = new Map([...partners].map(([slug, one]) => [slug, toForm(one)]));

/** What integrations of a partner hold; undefined for what is no partner. */
export function partnerForm(slug: string): IntegrationForm | undefined {
  return forms.get(slug);
}

/** Credentials of partners that are secret, and those that decide who receives them, by their names in snake_case. */
export const credentialSettings: { readonly secret: readonly string[]; readonly address: readonly string[] } = {
  secret: namesOf(({ secret }) => secret !== undefined),
  address: namesOf(({ isAddress }) => isAddress === true),
};

function namesOf(isMeant: (field: CredentialField) => boolean): string[] {
  const fields = [...partners.values()].flatMap(({ credentials }) => Object.entries(credentials));
  return [...new Set(fields.filter(([, field]) => isMeant(field)).map(([name]) => settingOf(name)))];
}

/** An integration's credential, as its store opens it. */
interface StoredCredential {
  readonly key: string | undefined;
  readonly settings: ReadonlyMap<string, string>;
  readonly customHost: string | undefined;
}

/** An integration's credential by the names its partner has for it. */
export function toCredentials(slug: string, { key, settings, customHost }: StoredCredential): Record<string, string> {
  const fields = Object.entries(partners.get(slug)?.credentials ?? {});
  const found = fields.flatMap(([name, { secret }]): [string, string][] => {
    const value = secret === "key" ? key : settings.get(settingOf(name));
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries([...found, ...(customHost === undefined ? [] : [["customHost", customHost]])]);
}
