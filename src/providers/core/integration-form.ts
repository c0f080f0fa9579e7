import type { ConfigurationMember, IntegrationForm } from "../../schemas/integration-members.ts";
import type { ProviderSetting, Requirements } from "./settings.ts";

/** Stands for the provider's key among the settings that are required. */
const keyName = "key";

function toMember({ stored, isSecret, shapesAddress, isBaseAddress }: ProviderSetting): ConfigurationMember {
  return {
    schema: stored,
    ...(isSecret && { secret: true }),
    ...(shapesAddress && { shapesAddress: true }),
    ...(isBaseAddress && { address: "base" }),
  };
}

/** The form of integrations of a provider: its settings, and what it requires of them. */
export function toIntegrationForm(
  settings: readonly ProviderSetting[],
  { integrations, mode }: Requirements,
  isKeyless: boolean,
): IntegrationForm {
  const { setting: member, integrations: required, absent = [] } = mode ?? {};
  return {
    members: Object.fromEntries(settings.map((setting) => [setting.member, toMember(setting)])),
    required: integrations ?? (isKeyless ? [] : [keyName]),
    ...(member !== undefined && required && { choice: { member, required, absent } }),
  };
}

/** Whether a value was given for a member. */
const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== "";

/** Says whether the members of a config authenticate calls without a key. */
export function createCredentialCheck(
  requirements: readonly Requirements[],
): (members: Readonly<Record<string, unknown>>) => boolean {
  const lists = requirements.flatMap(({ credentials = [] }) => credentials);
  const modes = requirements.flatMap(({ mode }) => mode ?? []);
  return (members) =>
    lists.some((names) => names.every((name) => isGiven(members[name]))) ||
    modes.some(({ setting, keyless }) => keyless.some((value) => members[setting] === value));
}
