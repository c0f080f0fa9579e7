import { BoundedMap } from "../../lib/bounded-map.ts";
import type { ConfigNode } from "../config.ts";
import { TargetMeasure } from "./target-measure.ts";

/** Most targets that are measured. */
const maxTargets = 20_000;

/** What is measured of targets. */
export interface Measures {
  /**
   * The measure of a target.
   *
   * @param scope What it is measured for besides the target: the tenant and the config.
   * @param keyOf Its key within the scope; only called where it is not at hand.
   */
  of(target: ConfigNode, scope: string, keyOf: (target: ConfigNode) => string): TargetMeasure;
  /** Those that were used since. */
  usedSince(time: number): TargetMeasure[];
}

/** Creates the measures of a gateway. */
export function createMeasures(): Measures {
  const all = new BoundedMap<string, TargetMeasure>(maxTargets);
  // the last scope that a target was used in: keys are made once, not for each request
  const last = new WeakMap<ConfigNode, { scope: string; measure: TargetMeasure }>();
  return {
    of(target, scope, keyOf) {
      const found = last.get(target);
      if (found?.scope === scope && all.get(found.measure.key) === found.measure) return found.measure;
      const key = `${scope} ${keyOf(target)}`;
      const measure = all.get(key) ?? new TargetMeasure(key);
      all.set(key, measure);
      last.set(target, { scope, measure });
      return measure;
    },
    usedSince: (time) =>
      [...all.entries()].map(([, measure]) => measure).filter(({ pending, usedAt }) => pending > 0 || usedAt >= time),
  };
}
