import { allowedRequestTypes } from "./checks/allowed-request-types.ts";
import { contains } from "./checks/contains.ts";
import { modelRules } from "./checks/model-rules.ts";
import { modelWhitelist } from "./checks/model-whitelist.ts";
import { requestParametersCheck } from "./checks/request-parameters-check.ts";
import { requiredMetadataKeyPairs } from "./checks/required-metadata-key-pairs.ts";
import { requiredMetadataKeys } from "./checks/required-metadata-keys.ts";
import type { KnownChecks } from "./read-hooks.ts";
import type { AnyCheck, Check, CheckTools } from "./types.ts";

/** A check with its parameters' type hidden: it is only ever run with what its own schema read. */
function hide<Parameters>(check: Check<Parameters>): AnyCheck {
  return check as unknown as AnyCheck;
}

/** Checks that need nothing but what they look at. */
const plainChecks: readonly AnyCheck[] = [
  hide(contains),
  hide(modelWhitelist),
  hide(modelRules),
  hide(allowedRequestTypes),
  hide(requiredMetadataKeys),
  hide(requiredMetadataKeyPairs),
  hide(requestParametersCheck),
];

/** Checks that use the outside, or remember something. */
function createToolChecks(_tools: CheckTools): AnyCheck[] {
  return [];
}

/** The checks a gateway has, by their ids. */
export function createChecks(tools: CheckTools): KnownChecks {
  const known = new Map<string, AnyCheck>();
  for (const check of [...plainChecks, ...createToolChecks(tools)]) {
    for (const id of [check.id, ...(check.aliases ?? [])]) known.set(id, check);
  }
  return known;
}
