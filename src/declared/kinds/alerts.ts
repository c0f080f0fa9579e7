import type { Fields } from "../document.ts";
import { toFlag } from "../fields.ts";
import { defineKind, type Kind } from "../kind.ts";

/** Destinations as they are compared: addresses of mails are stored in lower case. */
const toDestinations = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map((one: Fields) => ({
        ...one,
        ...(Array.isArray(one.to) && { to: one.to.map((address) => String(address).toLowerCase()) }),
      }))
    : value;

/** Rules that watch what requests do. */
export const alertRules: Kind = defineKind({
  section: "alert_rules",
  one: "an alert rule",
  path: "/alert-rules",
  by: "name",
  defaults: {
    metric: null,
    filter: {},
    threshold: null,
    window_seconds: 900,
    min_requests: 10,
    cooldown_seconds: 3_600,
    enabled: true,
    destinations: [],
  },
  toNormal: (fields) => ({
    ...fields,
    enabled: toFlag(fields.enabled),
    destinations: toDestinations(fields.destinations),
  }),
});
