import * as v from "valibot";
import { balanceMembers } from "./balance.ts";
import { Reference, Text } from "./control.ts";
import { LabelRules, Labels } from "./labels.ts";
import { JsonObject } from "./objects.ts";
import { ErrorCodes, ModelNeeds } from "./routing-choice.ts";

const whole = (minimum: number, maximum: number) =>
  v.pipe(
    v.number("must be a number"),
    v.integer("must be a whole number"),
    v.minValue(minimum, `must be at least ${minimum}`),
    v.maxValue(maximum, `must be at most ${maximum}`),
  );

const flag = v.boolean("must be true or false");
const object = v.pipe(JsonObject, v.record(v.string(), v.unknown()));
const strings = v.pipe(
  v.array(Text(256), "must be a list of strings"),
  v.maxLength(500, "must have at most 500 entries"),
);
const hooks = (item: v.GenericSchema, message: string) =>
  v.pipe(v.array(item, message), v.maxLength(200, "must have at most 200 entries"));
const guardrail = v.union([Text(256), object], "must be a slug or an object");
const milliseconds = whole(0, 2 ** 31 - 1);

/** Status codes of a rule. */
const StatusCodes = v.pipe(
  v.array(whole(100, 599), "must be a list of status codes"),
  v.maxLength(500, "must have at most 500 entries"),
);

/** A routing config in a body. The router reads it; `/openapi.json` describes its members. */
export const ConfigObject = v.record(v.string(), v.unknown());

/** Fields of a routing config's node except strategy and targets, which are read separately. */
export const nodeMembers = {
  name: Text(256),
  provider: Text(256),
  virtual_key: Reference,
  api_key: Text(16_384),
  prompt_id: Text(256),
  weight: v.pipe(
    v.number("must be a number"),
    v.minValue(0, "must be at least 0"),
    v.maxValue(1e12, "must be at most 1000000000000"),
  ),
  on_status_codes: StatusCodes,
  request_timeout: milliseconds,
  total_timeout: milliseconds,
  stream_idle_timeout: milliseconds,
  custom_host: Text(2048),
  forward_headers: strings,
  override_params: object,
  default_params: object,
  drop_params: strings,
  requires: ModelNeeds,
  passthrough: flag,
  strict_open_ai_compliance: flag,
  fetch_integrated_models: flag,
  metadata: object,
  labels: Labels,
  require_labels: LabelRules,
  before_request_hooks: hooks(object, "must be a list of hooks"),
  after_request_hooks: hooks(object, "must be a list of hooks"),
  input_guardrails: hooks(guardrail, "must be a list of guardrails"),
  output_guardrails: hooks(guardrail, "must be a list of guardrails"),
  input_mutators: hooks(object, "must be a list of mutators"),
  output_mutators: hooks(object, "must be a list of mutators"),
} satisfies Record<string, v.GenericSchema>;

/** `retry` of a node. Saved configs are limited to five attempts; older ones are capped when they are used. */
export const retryMembers = {
  attempts: whole(0, 5),
  on_status_codes: StatusCodes,
  use_retry_after_headers: flag,
} satisfies Record<string, v.GenericSchema>;

/** `cache` of a node. */
export const cacheMembers = {
  mode: v.picklist(["simple", "semantic"], "must be simple or semantic"),
  max_age: whole(60, 7_776_000),
  join: flag,
} satisfies Record<string, v.GenericSchema>;

/** `shadow` of the root, besides its target. */
export const shadowMembers = {
  share: v.pipe(v.number("must be a number"), v.gtValue(0, "must be above 0"), v.maxValue(1, "must be at most 1")),
} satisfies Record<string, v.GenericSchema>;

/** `prompt_cache` of a node, where it is an object. */
export const promptCacheMembers = {
  ttl: v.picklist(["5m", "1h"], "must be 5m or 1h"),
} satisfies Record<string, v.GenericSchema>;

/** How long a provider holds a prompt whose prefix is marked. */
export interface PromptCacheSettings {
  /** Undefined: the provider's default, five minutes. */
  ttl: "5m" | "1h" | undefined;
}

/** `strategy` of a node; conditions are read separately. */
export const strategyMembers = {
  mode: v.picklist(
    ["single", "fallback", "loadbalance", "conditional", "auto"],
    "must be single, fallback, loadbalance, conditional or auto",
  ),
  on_status_codes: StatusCodes,
  on_error_codes: ErrorCodes,
  default: Text(256),
  affinity: flag,
  ...balanceMembers,
} satisfies Record<string, v.GenericSchema>;

/** `strategy.sticky`. */
export const stickyMembers = {
  enabled: flag,
  hash_fields: v.pipe(
    v.array(
      v.pipe(Text(256), v.regex(/^(?:metadata|params|headers)\..+$/, "must start with metadata., params. or headers.")),
      "must be a list of fields",
    ),
    v.maxLength(20, "must have at most 20 entries"),
  ),
  ttl: whole(1, 31_536_000),
} satisfies Record<string, v.GenericSchema>;

/** `strategy.cb_config`. */
export const breakerMembers = {
  failure_threshold: whole(1, 1_000_000),
  failure_threshold_percentage: v.pipe(
    v.number("must be a number"),
    v.minValue(0, "must be at least 0"),
    v.maxValue(100, "must be at most 100"),
  ),
  minimum_requests: whole(1, 1_000_000),
  cooldown_interval: whole(0, 2 ** 31 - 1),
  failure_status_codes: StatusCodes,
} satisfies Record<string, v.GenericSchema>;
