import * as v from "valibot";
import type { FactTable } from "../../core/model-facts.ts";
import type { ModelNaming, Provider } from "../../core/types.ts";
import { type OpenaiCompatibleRules, openaiCompatible } from "../mod.ts";

/** A provider that speaks OpenAI's shapes and has no settings. */
export interface CompatDeclaration extends OpenaiCompatibleRules {
  /** Name in `x-gateway-provider`. */
  slug: string;
  /** Base URL without a trailing slash; for some providers it depends on the path below it. */
  baseUrl: string | ((settings: object, facts: { path: string }) => string);
  /** How its models are named. Default: a model has exactly one name. */
  models?: ModelNaming<object>;
  /** What its models take. */
  facts?: FactTable;
  /** Default: the credential as a bearer token; no header when the caller has no credential. */
  authenticate?: (credential: string | undefined) => Record<string, string>;
}

/** The provider of a declaration. */
export function declareCompatible(declaration: CompatDeclaration): Provider {
  return openaiCompatible({
    ...declaration,
    settings: { prefix: declaration.slug, schema: v.object({}) },
  });
}

/** Rules for older servers, which only know `max_tokens`. */
export const oldTokenLimit = { max_completion_tokens: "max_tokens" } as const;
