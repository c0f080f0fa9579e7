import { asObject, isJsonObject, type JsonObject, textOf } from "../../lib/json.ts";
import { nameOf, wordOf } from "../../lib/words.ts";
import { text } from "../../text/text.ts";

const words = text.checks;

/** Sources of checks that come with the gateway. */
const ownSources: ReadonlySet<string> = new Set(["default", "gateway"]);

/** The vendor of a check by the id: `azure.pii` as `Azure`. */
export function vendorOf(id: string): string {
  const [source = ""] = id.includes(".") ? id.split(".") : ["default"];
  return ownSources.has(source) ? words.builtIn : (words.vendors[source] ?? nameOf(source.replaceAll("-", " ")));
}

/** The name of a check by its id: `default.containsCode` as `Contains code`. */
export function nameOfCheck(id: string): string {
  const name = id.slice(id.indexOf(".") + 1);
  return words.names[id] ?? words.names[name] ?? nameOf(name);
}

/** The name of a check with its vendor, where that is another company. */
export function fullNameOf(id: string): string {
  const vendor = vendorOf(id);
  return vendor === words.builtIn ? nameOfCheck(id) : words.ofVendor({ name: nameOfCheck(id), vendor });
}

/** The name of a parameter: `redactText` as `Replacement`. */
export const labelOf = (name: string): string => words.parameters[name] ?? nameOf(name);

/** A value that a parameter names, in words. */
export function labelOfValue(name: string, value: unknown): string {
  const written = String(value);
  if (typeof value === "boolean")
    return words.values[`${name}.${written}`] ?? (value ? text.common.yes : text.common.no);
  const word = words.values[`${name}.${written}`] ?? words.values[written] ?? wordOf(written);
  if (word !== written) return word;
  return written.includes("_") ? nameOf(written) : written.charAt(0).toUpperCase() + written.slice(1);
}

const quote = (value: unknown): string => (typeof value === "string" ? `"${value}"` : JSON.stringify(value));

/** Parameters whose values are names that the gateway gives, and not what somebody wrote. */
const named: ReadonlySet<string> = new Set([
  "applyToRole",
  "categories",
  "domain",
  "failOnError",
  "format",
  "kinds",
  "matchType",
  "mode",
  "operator",
  "policy_target",
  "scan_scope",
  "scanners",
  "scope",
  "searchDepth",
  "timeRange",
  "topic",
  "via",
]);

function describeValue(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((one) => describeOne(name, one)).join(", ");
  return describeOne(name, value);
}

function describeOne(name: string, value: unknown): string {
  return typeof value === "boolean" || (named.has(name) && typeof value !== "object")
    ? labelOfValue(name, value)
    : quote(value);
}

const isSet = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);

/** Lists of which `operator` says how many must be found. */
const listed = ["words", "keys", "metadataKeys"] as const;

/** The parameters of a check that are set, in words. */
export function describeParameters(parameters: unknown): readonly string[] {
  if (!isJsonObject(parameters)) return [];
  const list = listed.find((name) => Array.isArray(parameters[name]));
  const joined =
    list !== undefined && typeof parameters.operator === "string"
      ? [words.amongst({ operator: parameters.operator, list: describeValue(list, parameters[list]) })]
      : [];
  const others = Object.entries(parameters)
    .filter(([name, value]) => isSet(value) && !(joined.length > 0 && (name === list || name === "operator")))
    .map(([name, value]) => {
      if (value === true && words.values[`${name}.true`] === undefined) return labelOf(name);
      return words.set({ label: labelOf(name), value: describeValue(name, value) });
    });
  return [...joined, ...others];
}

function describeOutcome(name: "on_success" | "on_fail", { [name]: outcome }: JsonObject): readonly string[] {
  if (typeof outcome === "string") return [words.outcome[name]({ what: labelOfValue(name, outcome) })];
  if (!isJsonObject(outcome)) return [];
  const { feedback, ...others } = outcome;
  const value = textOf(asObject(feedback).value);
  return [
    ...(value === "" ? [] : [words.feedback[name]({ value })]),
    ...Object.values(others)
      .filter(isSet)
      .map((other) =>
        words.outcome[name]({ what: typeof other === "string" ? labelOfValue(name, other) : quote(other) }),
      ),
  ];
}

/** What a guardrail does with its verdict, as sentences. */
export function describeActions(actions: unknown): readonly string[] {
  if (!isJsonObject(actions)) return [];
  const isOn = (name: string) => actions[name] === true || actions[name] === 1;
  const choices = ["on_error", "stream_mode", "uninspected"] as const;
  return [
    isOn("deny") ? words.denies : words.reports,
    ...(isOn("async") ? [words.later] : []),
    ...(isOn("sequential") ? [words.inOrder] : []),
    ...choices.flatMap((name) =>
      isSet(actions[name]) ? [words.set({ label: labelOf(name), value: labelOfValue(name, actions[name]) })] : [],
    ),
    ...describeOutcome("on_success", actions),
    ...describeOutcome("on_fail", actions),
  ];
}
