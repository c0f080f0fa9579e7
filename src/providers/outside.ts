// Providers that an embedder adds. Nobody reviews their declarations: a setting that says nothing of itself is hidden in logs.

import { defineProvider as define } from "./core/define.ts";
import type { SettingsDefinition } from "./core/settings.ts";
import type { Provider, ProviderDefinition } from "./core/types.ts";
import { openaiCompatible as defineCompatible, type OpenaiCompatibleOptions } from "./openai-compatible/mod.ts";

const withHidden = <Settings>(settings: SettingsDefinition<Settings>): SettingsDefinition<Settings> => ({
  hidesUnmarked: true,
  ...settings,
});

/**
 * Declares a provider with a separate API. Logs show a digest of settings without a mark; `plainSetting` marks one that
 * they show.
 */
export function defineProvider<Settings>(definition: ProviderDefinition<Settings>): Provider {
  return define({ ...definition, settings: withHidden(definition.settings) });
}

/** Declares a provider that speaks OpenAI's shapes. Its settings are hidden in logs as those of `defineProvider`. */
export function openaiCompatible<Settings>(options: OpenaiCompatibleOptions<Settings>): Provider {
  return defineCompatible({ ...options, settings: withHidden(options.settings) });
}
