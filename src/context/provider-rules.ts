import type { VirtualKeyField } from "../providers/core/settings.ts";

/** What the providers of a gateway say of themselves, put together once at start. */
export interface ProviderRules {
  /** Headers that say where requests go, without the gateway's prefix. */
  readonly addressHeaders: readonly string[];
  /** Headers that are for one file, without the gateway's prefix. */
  readonly fileHeaders: readonly string[];
  /** Slugs of providers by other names that integrations may give them. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Fields of virtual keys by the setting each gives. */
  readonly virtualKeyFields: ReadonlyMap<string, VirtualKeyField>;
}
