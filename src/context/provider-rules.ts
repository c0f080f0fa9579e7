import type { OperatorFactReader } from "../providers/core/operator-facts.ts";
import type { VirtualKeyField } from "../providers/core/settings.ts";

/** Declarations of the gateway's providers, and what the operator says of them, combined at start. */
export interface ProviderRules {
  /** Headers that determine where requests go, without the gateway's prefix. */
  readonly addressHeaders: readonly string[];
  /** Headers that apply to a single file, without the gateway's prefix. */
  readonly fileHeaders: readonly string[];
  /** Slugs of providers by alternative names that integrations may use. */
  readonly aliases: ReadonlyMap<string, string>;
  /** The operator's facts of models. Undefined: the built-in tables alone hold. */
  readonly operatorFacts: OperatorFactReader | undefined;
  /** Fields of virtual keys, by setting. */
  readonly virtualKeyFields: ReadonlyMap<string, VirtualKeyField>;
}
