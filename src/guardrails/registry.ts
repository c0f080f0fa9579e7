import { addPrefix } from "./checks/add-prefix.ts";
import { allowedRequestTypes } from "./checks/allowed-request-types.ts";
import { characterCount } from "./checks/character-count.ts";
import { contains } from "./checks/contains.ts";
import { containsCode } from "./checks/contains-code.ts";
import { endsWith } from "./checks/ends-with.ts";
import { createGibberishCheck } from "./checks/gibberish.ts";
import { createInlineImageUrlsCheck } from "./checks/inline-image-urls.ts";
import { jsonKeys } from "./checks/json-keys.ts";
import { jsonSchema } from "./checks/json-schema.ts";
import { createJwtCheck } from "./checks/jwt.ts";
import { language } from "./checks/language.ts";
import { allLowercase, allUppercase } from "./checks/letter-case.ts";
import { createLogCheck } from "./checks/log.ts";
import { modelRules } from "./checks/model-rules.ts";
import { modelWhitelist } from "./checks/model-whitelist.ts";
import { createModerateContentCheck } from "./checks/moderate-content.ts";
import { notNull } from "./checks/not-null.ts";
import { createPiiCheck } from "./checks/pii.ts";
import { regexMatch } from "./checks/regex-match.ts";
import { regexReplace } from "./checks/regex-replace.ts";
import { requestParametersCheck } from "./checks/request-parameters-check.ts";
import { requiredMetadataKeyPairs } from "./checks/required-metadata-key-pairs.ts";
import { requiredMetadataKeys } from "./checks/required-metadata-keys.ts";
import { secrets } from "./checks/secrets.ts";
import { sentenceCount } from "./checks/sentence-count.ts";
import { createValidUrlsCheck } from "./checks/valid-urls.ts";
import { createWebhookCheck } from "./checks/webhook.ts";
import { wordCount } from "./checks/word-count.ts";
import { createPartnerChecks } from "./partners/client.ts";
import type { KnownChecks } from "./read-hooks.ts";
import type { AnyCheck, Check, CheckTools } from "./types.ts";

/** A check without the type of its parameters. */
function hide<Parameters>(check: Check<Parameters>): AnyCheck {
  return check as unknown as AnyCheck; // it only runs with parameters from its own schema
}

/** Checks that need nothing but their input. */
const plainChecks: readonly AnyCheck[] = [
  hide(contains),
  hide(regexMatch),
  hide(regexReplace),
  hide(sentenceCount),
  hide(wordCount),
  hide(characterCount),
  hide(endsWith),
  hide(allUppercase),
  hide(allLowercase),
  hide(containsCode),
  hide(jsonSchema),
  hide(jsonKeys),
  hide(notNull),
  hide(language),
  hide(secrets),
  hide(addPrefix),
  hide(modelWhitelist),
  hide(modelRules),
  hide(allowedRequestTypes),
  hide(requiredMetadataKeys),
  hide(requiredMetadataKeyPairs),
  hide(requestParametersCheck),
];

/** Checks that call services or hold state. */
function createToolChecks(tools: CheckTools): AnyCheck[] {
  return [
    hide(createValidUrlsCheck(tools)),
    hide(createJwtCheck(tools)),
    hide(createWebhookCheck(tools)),
    hide(createLogCheck(tools)),
    hide(createInlineImageUrlsCheck(tools)),
    hide(createPiiCheck(tools)),
    hide(createModerateContentCheck(tools)),
    hide(createGibberishCheck(tools)),
    ...createPartnerChecks(tools),
  ];
}

/** The checks of a gateway, by id. */
export function createChecks(tools: CheckTools): KnownChecks {
  const known = new Map<string, AnyCheck>();
  for (const check of [...plainChecks, ...createToolChecks(tools)]) {
    for (const id of [check.id, ...(check.aliases ?? [])]) known.set(id, check);
  }
  return known;
}
