import type { PatternSum } from "../../packages/patterns/src/pattern.ts";
import { isObject, stringOf } from "../lib/json.ts";
import { ejectionMembers, healthMembers } from "../schemas/balance.ts";
import { strategyMembers } from "../schemas/routing.ts";
import { classifierMembers, errorCodes } from "../schemas/routing-choice.ts";
import { type AutoClassifier, readClassifier } from "./auto-classifier.ts";
import { type BalanceSettings, findUnusedBalance, readBalance } from "./balance/settings.ts";
import { createQueryReader, fieldsOf, isRequestFact, type ReadQuery } from "./conditions.ts";
import type { BreakerSettings, Condition, Strategy } from "./config.ts";
import { codesOf, flagOf, join, type MemberReader, type Members, type Schemas, wordsOf } from "./member-reader.ts";
import { readBreaker, readSticky } from "./read-settings.ts";

/** Reads the strategies of a config. */
export class StrategyReader {
  readonly #reader: MemberReader;
  readonly #readQuery: ReadQuery;

  /** @param patterns Sum of the patterns in conditions. */
  constructor(reader: MemberReader, patterns: PatternSum) {
    this.#reader = reader;
    this.#readQuery = createQueryReader(reader.problems, patterns);
  }

  #readConditions(value: unknown, path: string, isRules = false): Condition[] {
    if (!Array.isArray(value) || value.length === 0) {
      this.#reader.note(
        path,
        isRules ? "must be a list of at least one rule" : "No conditions passed in the query router",
      );
      return [];
    }
    return value.flatMap((condition, index): Condition[] => {
      const place = `${path}[${index}]`;
      if (!isObject(condition)) {
        this.#reader.note(place, "must be an object with query and then");
        return [];
      }
      const { query: written, then: name } = condition;
      const query =
        written === undefined
          ? this.#reader.note(`${place}.query`, "must be given")
          : this.#readQuery(written, `${place}.query`, isRules);
      const then = typeof name === "string" ? name.normalize("NFC") : "";
      if (then === "") this.#reader.note(`${place}.then`, "must name a target");
      return query && then !== "" ? [{ query, written, then }] : [];
    });
  }

  #readBalance(members: Members, path: string): BalanceSettings | undefined {
    const read = (name: string, schemas: Schemas) =>
      members[name] === undefined ? undefined : this.#reader.check(members[name], `${path}.${name}`, schemas);
    const inner = { ejection: read("outlier_ejection", ejectionMembers), health: read("health_check", healthMembers) };
    const asks = inner.health && [inner.health.path, inner.health.model].filter((one) => one !== undefined);
    if (asks?.length === 0) this.#reader.note(`${path}.health_check.path`, "must be given, or model");
    if (asks?.length === 2) this.#reader.note(`${path}.health_check.model`, "cannot be combined with path");
    return readBalance(members, inner);
  }

  #readClassifier(value: unknown, path: string): AutoClassifier | undefined {
    if (value === undefined) return undefined;
    const members = this.#reader.check(value, path, classifierMembers);
    return readClassifier(members, (problem) => this.#reader.note(`${path}.${problem.path}`, problem.message));
  }

  /** @param outerBreaker Circuit breaker beside the strategy, used when the strategy has none. */
  read(value: unknown, path: string, outerBreaker: BreakerSettings | undefined): Strategy | undefined {
    if (value === undefined) return undefined;
    const apart = ["conditions", "rules", "classifier", "sticky", "cb_config", "outlier_ejection", "health_check"];
    const members = this.#reader.check(value, path, strategyMembers, (name) => apart.includes(name));
    const breaker = readBreaker(members.cb_config, `${path}.cb_config`, this.#reader) ?? outerBreaker;
    const sticky = readSticky(members.sticky, `${path}.sticky`, this.#reader);
    if (this.#reader.isStrict && members.on_error_codes !== undefined && members.mode !== "fallback") {
      this.#reader.note(`${path}.on_error_codes`, "has no effect without the mode fallback: leave it out");
    }
    if (this.#reader.isStrict && typeof members.mode === "string") {
      for (const problem of findUnusedBalance(members)) this.#reader.note(join(path, problem.path), problem.message);
    }
    switch (members.mode) {
      case "single":
        return { mode: "single", breaker };
      case "fallback":
        return {
          mode: "fallback",
          breaker,
          onStatusCodes: codesOf(members.on_status_codes),
          onErrorCodes: wordsOf(members.on_error_codes, errorCodes),
        };
      case "loadbalance": {
        const balance = this.#readBalance(members, path);
        return { mode: "loadbalance", breaker, sticky, affinity: flagOf(members.affinity), balance };
      }
      case "auto": {
        const rules = members.rules === undefined ? [] : this.#readConditions(members.rules, `${path}.rules`, true);
        const asked = rules.flatMap(({ query }) => fieldsOf(query, "request").filter(isRequestFact));
        const classifier = this.#readClassifier(members.classifier, `${path}.classifier`);
        return { mode: "auto", breaker, rules, asked: [...new Set(asked)], classifier };
      }
      case "conditional": {
        const conditions = this.#readConditions(members.conditions, `${path}.conditions`);
        return { mode: "conditional", breaker, conditions, default: stringOf(members.default) };
      }
      default:
        if (isObject(value) && members.mode === undefined) this.#reader.note(`${path}.mode`, "must be given");
        return undefined;
    }
  }
}
