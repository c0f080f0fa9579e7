import type { ProviderRules } from "../context/provider-rules.ts";
import type { ContentRules } from "../control/sealed-contents.ts";
import { credentialSettings } from "../guardrails/partners/forms.ts";
import { createCredentialCheck } from "../providers/core/integration-form.ts";
import { createOperatorFactReader } from "../providers/core/operator-facts.ts";
import type { ProviderSetting } from "../providers/core/settings.ts";
import type { ProviderRegistry } from "../providers/registry.ts";
import type { KnownProviders } from "../routing/node-rules.ts";
import type { OperatorFacts } from "../schemas/model-facts.ts";

/** Settings of all providers, those that nothing reads too. */
function allSettings(providers: ProviderRegistry): ProviderSetting[] {
  return [...providers.values()].flatMap(({ settings, unreadSettings }) => [...settings, ...unreadSettings]);
}

const namesOf = (settings: readonly ProviderSetting[]): ReadonlySet<string> =>
  new Set(settings.flatMap(({ names }) => names));

/** Which settings in saved configs and guardrails are credentials, and which shape an address. */
export function toContentRules(providers: ProviderRegistry): ContentRules {
  const settings = allSettings(providers);
  return {
    secretSettings: new Set([...namesOf(settings.filter(({ isSecret }) => isSecret)), ...credentialSettings.secret]),
    addressSettings: new Set([
      ...namesOf(settings.filter(({ shapesAddress }) => shapesAddress)),
      ...credentialSettings.address,
    ]),
  };
}

/** What routing knows of providers. */
export function toKnownProviders(providers: ProviderRegistry): KnownProviders {
  const members = namesOf(allSettings(providers));
  return {
    has: (slug) => providers.has(slug),
    needsNoKey: (slug) => providers.get(slug)?.isKeyless === true,
    hasSetting: (member) => members.has(member),
    hasCredential: createCredentialCheck([...providers.values()].map(({ requirements }) => requirements)),
    neededCredentials(slug) {
      const { needsCredential, credentials } = providers.get(slug)?.requirements ?? {};
      return needsCredential ? credentials : undefined;
    },
  };
}

/** What requests and the control plane need to know of all providers together. */
export function toProviderRules(providers: ProviderRegistry, modelFacts: OperatorFacts | undefined): ProviderRules {
  const settings = allSettings(providers);
  const headersOf = (some: readonly ProviderSetting[]) => [...new Set(some.map(({ header }) => header))];
  const known = [...providers.values()];
  return {
    addressHeaders: headersOf(settings.filter(({ shapesAddress, choosesPlace }) => shapesAddress || choosesPlace)),
    fileHeaders: headersOf(settings.filter(({ isOfFile }) => isOfFile)),
    aliases: new Map(known.flatMap(({ slug, aliases }) => aliases.map((alias) => [alias, slug] as const))),
    operatorFacts: createOperatorFactReader(modelFacts, providers),
    virtualKeyFields: new Map(known.flatMap(({ virtualKeyFields }) => Object.entries(virtualKeyFields))),
  };
}

/**
 * Members of JSON whose values logs never show, in snake_case: settings in configs, and headers that stand in a body.
 *
 * @param prefixes What our own headers begin with.
 */
export function secretMembers(providers: ProviderRegistry, prefixes: readonly string[]): string[] {
  const secrets = allSettings(providers).filter(({ isSecret }) => isSecret);
  const headers = prefixes.flatMap((prefix) => secrets.map(({ header }) => prefix + header));
  return [...namesOf(secrets), ...headers.map((header) => header.replaceAll("-", "_"))];
}

/**
 * Headers whose values logs never show, in lower case.
 *
 * @param prefixes What our own headers begin with.
 */
export function secretHeaders(providers: ProviderRegistry, prefixes: readonly string[]): string[] {
  return [...providers.values()].flatMap(({ settings, unreadSettings, plainHeaders }) => {
    const hidden = [...settings, ...unreadSettings].filter(({ isHidden }) => isHidden).map(({ header }) => header);
    const plain = hidden.filter((header) => plainHeaders.includes(header));
    return [...plain, ...prefixes.flatMap((prefix) => hidden.map((header) => prefix + header))];
  });
}
