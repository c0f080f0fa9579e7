import * as v from "valibot";
import { Flag, NoAutomaticRotation, wholeFrom } from "./control.ts";

/** A boolean that is stored as 0 or 1. */
const Bit = v.nullish(
  v.pipe(
    Flag,
    v.transform((on) => (on ? 1 : 0)),
  ),
);

/** Longest lifetime of a key, in days. */
const maxDays = 36_500;

/** Settings of an organisation and, where it allows them, of its workspaces; null restores the default. */
export const sharedSettings = {
  debug_log: Bit,
  user_api_key_count: v.nullish(wholeFrom(-1, 1_000_000)),
  user_api_key_ttl: v.nullish(wholeFrom(0, maxDays)),
  user_api_key_max_ttl: v.nullish(wholeFrom(0, maxDays)),
  user_api_key_rotation_period: NoAutomaticRotation,
  user_api_key_auto_create: v.nullish(Flag),
  user_key_metadata: Bit,
  user_key_metadata_override: Bit,
};

/** Fields of `data_plane_security_settings`. */
export const DataPlaneSecuritySettings = v.object({ block_inline_config: v.nullish(Flag) });

/** Booleans by name; the handler knows the names. */
export const SecuritySettings = v.record(v.string(), v.nullish(Flag));
