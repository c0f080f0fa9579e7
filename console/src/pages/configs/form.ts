import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import { nameOf } from "../../lib/words.ts";
import { Draft, readDrafts } from "../../resources/checks/draft.ts";
import type { ParameterWords } from "../../resources/checks/parameters.ts";
import { text } from "../../text/text.ts";
import type { NodePath } from "./edit-tree.ts";

const words = text.configs.formOf;

/** Members of configs in words. */
export const configWords: ParameterWords = {
  labelOf: (name) => words.members[name] ?? nameOf(name),
  helpOf: (_, { description }) => (typeof description === "string" ? description : undefined),
  labelOfValue: (name, value) =>
    typeof value === "boolean"
      ? value
        ? text.common.yes
        : text.common.no
      : ((name === "mode" ? text.configs.modes[String(value)] : undefined) ?? String(value)),
  emptyOf: () => undefined,
};

/** Members of a node that stand together under a title. */
export interface FormPart {
  readonly title: string;
  readonly names: readonly string[];
}

/** What stands first, without a title. Of the parameters that a target sets, that is its model. */
const ofTarget: readonly string[] = [
  "name",
  "provider",
  "override_params",
  "weight",
  "virtual_key",
  "api_key",
  "passthrough",
];
const ofGroup: readonly string[] = ["name", "weight", "strategy"];
/** What stands first, by what a node is. */
const firstOf = { root: ["strategy"], group: ofGroup, target: ofTarget } as const;

/** Members of a strategy that only one mode reads. */
const ofModes: Readonly<Record<string, readonly string[]>> = {
  fallback: ["on_status_codes", "on_error_codes"],
  loadbalance: ["sticky", "affinity", "choose", "slow_start", "health_check", "outlier_ejection"],
  conditional: ["conditions", "default"],
  auto: ["rules", "classifier"],
};

/** Whether a member has a use: those of a strategy depend on its mode. */
export function asksFor(path: string, record: JsonObject): boolean {
  const [parent, name = "", ...deeper] = path.split(".");
  if (parent !== "strategy" || deeper.length > 0) return true;
  const mode = typeof record.mode === "string" ? record.mode : "";
  return Object.entries(ofModes).every(([one, names]) => one === mode || !names.includes(name));
}

const parts: readonly FormPart[] = [
  { title: words.retries, names: ["retry", "on_status_codes", "cb_config"] },
  { title: words.caches, names: ["cache", "prompt_cache"] },
  {
    title: words.guardrails,
    names: [
      "input_guardrails",
      "output_guardrails",
      "before_request_hooks",
      "after_request_hooks",
      "input_mutators",
      "output_mutators",
    ],
  },
  { title: words.times, names: ["request_timeout", "total_timeout", "stream_idle_timeout"] },
  { title: words.parameters, names: ["override_params", "default_params", "drop_params", "requires"] },
  { title: words.labels, names: ["labels", "require_labels", "metadata"] },
];

/** The members of a node in the order of its form: what it is first, then parts. No member is left out. */
export function arrangeNode(
  names: readonly string[],
  kind: keyof typeof firstOf,
): { readonly first: readonly string[]; readonly parts: readonly FormPart[] } {
  const first = firstOf[kind].filter((name) => names.includes(name));
  const isFirst = (name: string) => first.includes(name) && name !== "override_params";
  // the tree has the targets
  const others = names.filter((name) => !isFirst(name) && name !== "targets");
  const titled = parts.map(({ title, names: ofPart }) => ({
    title,
    names: ofPart.filter((one) => others.includes(one)),
  }));
  const more = others.filter((name) => titled.every((part) => !part.names.includes(name)));
  const all = [...titled, { title: text.common.more, names: more }];
  return { first, parts: all.filter((part) => part.names.length > 0) };
}

function countMembers(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + countMembers(one), 0);
  if (!isJsonObject(value)) return 0;
  return Object.values(value).reduce((sum: number, one) => sum + 1 + countMembers(one), 0);
}

/** Whether a number keeps its value when it is read and written again. */
function isExactNumber(written: string): boolean {
  const digits = written.replace(/e.*$/i, "").replace(/\D/g, "").replace(/^0+/, "");
  return Number.isFinite(Number(written)) && (digits.length <= 15 || String(Number(written)) === written);
}

/** The object of a JSON text; undefined where it is none, or where numbers or members would be lost. */
export function readExact(code: string): JsonObject | undefined {
  let value: unknown;
  try {
    value = JSON.parse(code);
  } catch {
    return undefined;
  }
  const tokens = code.match(/"(?:[^"\\]|\\.)*"|:|-?\d[\d.eE+-]*/g) ?? [];
  const isWhole = tokens.filter((token) => token === ":").length === countMembers(value);
  const isExact = tokens.every((token) => !/^[-\d]/.test(token) || isExactNumber(token));
  return isJsonObject(value) && isWhole && isExact ? value : undefined;
}

/** A form as JSON. @throws {Error} Something that was typed cannot be read. */
export function writeForm(form: JsonObject): string {
  return JSON.stringify(readDrafts(form), undefined, 2);
}

/** The parameter `model` that a target sets; undefined where the parameters are being typed as JSON. */
export function modelOf(params: unknown): string | undefined {
  if (params === undefined) return "";
  if (!isJsonObject(params) || params instanceof Draft) return undefined;
  return params.model === undefined ? "" : typeof params.model === "string" ? params.model : undefined;
}

/** Names of members and places in lists. */
type JsonPath = readonly (string | number)[];

/** What the gateway or the schema refused, split by node: of each, messages by dotted path in it. */
export function marksOfNode(
  marks: readonly { readonly path: JsonPath; readonly message: string }[],
  at: NodePath,
): Readonly<Record<string, string>> {
  const own = marks.flatMap(({ path, message }) => {
    const [node, rest] = splitPath(path);
    return node.join() === at.join() && rest !== "" ? [[rest, message] as const] : [];
  });
  return Object.fromEntries(own.toReversed());
}

/** The node that a path leads to, and the dotted path of what it names there. */
export function splitPath(path: JsonPath): readonly [node: NodePath, rest: string] {
  const [name, place, ...below] = path;
  if (name !== "targets" || typeof place !== "number") return [[], path.join(".")];
  const [node, rest] = splitPath(below);
  return [[place, ...node], rest];
}
