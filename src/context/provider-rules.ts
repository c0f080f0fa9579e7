import type { VirtualKeyField } from "../providers/core/settings.ts";

/** Declarations of the gateway's providers, combined at start. */
export interface ProviderRules {
  /** Headers that determine where requests go, without the gateway's prefix. */
  readonly addressHeaders: readonly string[];
  /** Headers that apply to a single file, without the gateway's prefix. */
  readonly fileHeaders: readonly string[];
  /** Slugs of providers by alternative names that integrations may use. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Fields of virtual keys, by setting. */
  readonly virtualKeyFields: ReadonlyMap<string, VirtualKeyField>;
}
