import { addPrefix } from "./checks/add-prefix.ts";
import { contains } from "./checks/contains.ts";
import { createInlineImageUrlsCheck } from "./checks/inline-image-urls.ts";
import { createJwtCheck } from "./checks/jwt.ts";
import { createLogCheck } from "./checks/log.ts";
import { createWebhookCheck } from "./checks/webhook.ts";
import type { KnownChecks } from "./read-hooks.ts";
import type { AnyCheck, Check, CheckTools } from "./types.ts";

/** A check with its parameters' type hidden: it is only ever run with what its own schema read. */
function hide<Parameters>(check: Check<Parameters>): AnyCheck {
  return check as unknown as AnyCheck;
}

/** Checks that need nothing but what they look at. */
const plainChecks: readonly AnyCheck[] = [hide(contains), hide(addPrefix)];

/** Checks that use the outside, or remember something. */
function createToolChecks(tools: CheckTools): AnyCheck[] {
  return [
    hide(createJwtCheck(tools)),
    hide(createWebhookCheck(tools)),
    hide(createLogCheck(tools)),
    hide(createInlineImageUrlsCheck(tools)),
  ];
}

/** The checks a gateway has, by their ids. */
export function createChecks(tools: CheckTools): KnownChecks {
  const known = new Map<string, AnyCheck>();
  for (const check of [...plainChecks, ...createToolChecks(tools)]) {
    for (const id of [check.id, ...(check.aliases ?? [])]) known.set(id, check);
  }
  return known;
}
