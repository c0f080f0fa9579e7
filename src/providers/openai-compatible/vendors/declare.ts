import * as v from "valibot";
import type { ModelNaming, Provider } from "../../core/types.ts";
import { type OpenaiCompatibleRules, openaiCompatible } from "../mod.ts";

/** A provider that speaks OpenAI's shapes and has no settings of its own. */
export interface CompatDeclaration extends OpenaiCompatibleRules {
  /** Name in `x-gateway-provider`. */
  slug: string;
  /** Base address, without a slash at its end; of some it depends on the path below it. */
  baseUrl: string | ((settings: object, facts: { path: string }) => string);
  /** How its models are named, if not by one plain name each. */
  models?: ModelNaming<object>;
  /** Default: the credential as a bearer token; none where the caller has none. */
  authenticate?: (credential: string | undefined) => Record<string, string>;
}

/** Answers of servers that speak OpenAI's shapes and add what their models thought, or facts of their own. */
export const rightButForExtras = { answers: {}, mostlyRight: true } as const;

/** The provider of a declaration; whose answers differ in no stated way is held to OpenAI's members only. */
export function declareCompatible(declaration: CompatDeclaration): Provider {
  return openaiCompatible({
    ...(!declaration.answers && rightButForExtras),
    ...declaration,
    settings: { prefix: declaration.slug, schema: v.object({}) },
  });
}

/** Servers of this age know `max_tokens` alone. */
export const oldTokenLimit = { max_completion_tokens: "max_tokens" } as const;
