import * as v from "valibot";
import { Flag, NoAutomaticRotation } from "./control.ts";
import { closedObject, ShownFlag } from "./objects.ts";
import { wholeFrom } from "./whole-number.ts";

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
export const DataPlaneSecuritySettings = closedObject({ block_inline_config: v.nullish(Flag) });

/** Booleans by name; the handler knows the names. */
export const SecuritySettings = v.record(v.string(), v.nullish(Flag));

/** Settings of a workspace in responses. */
export const ShownSettings = v.object({
  /** 1: requests are logged in full; 0: only their figures. */
  debug_log: ShownFlag,
  /** Most user keys of one user in a workspace; -1 is unlimited. */
  user_api_key_count: v.number(),
  /** Default lifetime of a user key in days; 0 is unlimited. */
  user_api_key_ttl: v.number(),
  /** Longest lifetime of a user key in days; 0 is unlimited. */
  user_api_key_max_ttl: v.number(),
  /** A user who joins a workspace gets a key. */
  user_api_key_auto_create: v.boolean(),
  /** 1: requests by user keys carry `_user`. */
  user_key_metadata: ShownFlag,
  /** 1: a request may set `_user` itself. */
  user_key_metadata_override: ShownFlag,
});
export type WorkspaceSettings = v.InferOutput<typeof ShownSettings>;

/** Whether a workspace allows saved configs only. */
export const ShownDataPlaneSettings = v.object({ block_inline_config: v.boolean() });

/** Switches of what roles may do, by name. */
export const ShownSecuritySettings = v.record(v.string(), v.boolean());
