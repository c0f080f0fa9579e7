import { formatDuration, formatShare } from "@/lib/format.ts";
import { isJsonObject, type JsonObject } from "@/lib/json.ts";
import { text } from "@/text/text.ts";

const words = text.configs;

/** Why a target is chosen, as the line that leads to it says. */
export interface TreeEdge {
  readonly label: string;
  /** Place of the condition among those of the group; undefined for other reasons. */
  readonly condition?: number;
}

/** A node of a routing config as it is drawn. */
export interface TreeNode {
  /** As the API names it: `config.targets[0]`. */
  readonly path: string;
  readonly title: string;
  /** Strategy of a group; undefined for targets. */
  readonly mode: string | undefined;
  /** What leads here from the group above. */
  readonly edges: readonly TreeEdge[];
  /** What is set here: retries, timeouts, parameters. */
  readonly settings: readonly string[];
  readonly children: readonly TreeNode[];
}

/** Members by their snake_case names: configs may be written in camelCase. */
function membersOf(value: unknown): JsonObject {
  if (!isJsonObject(value)) return {};
  const names = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [names(name), member]));
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** A query in words: `metadata.plan = "paid"`. */
export function describeQuery(query: unknown): string {
  if (!isJsonObject(query)) return JSON.stringify(query) ?? "";
  return Object.entries(query)
    .map(([name, wanted]) => {
      if (name === "$and" || name === "$or") {
        const joined = listOf(wanted)
          .map(describeQuery)
          .join(name === "$and" ? ` ${words.and} ` : ` ${words.or} `);
        return `(${joined})`;
      }
      if (!isJsonObject(wanted)) return `${name} = ${JSON.stringify(wanted)}`;
      return Object.entries(wanted)
        .map(([operator, operand]) => `${name} ${words.operators[operator] ?? operator} ${JSON.stringify(operand)}`)
        .join(` ${words.and} `);
    })
    .join(` ${words.and} `);
}

function settingsOf(node: JsonObject): readonly string[] {
  const found: string[] = [];
  const retry = membersOf(node.retry);
  const cache = typeof node.cache === "string" ? node.cache : textOf(membersOf(node.cache).mode);
  const strategy = membersOf(node.strategy);
  if (typeof retry.attempts === "number") found.push(words.retries({ count: retry.attempts }));
  if (typeof node.request_timeout === "number")
    found.push(words.timeout({ time: formatDuration(node.request_timeout) }));
  if (typeof node.total_timeout === "number")
    found.push(words.totalTimeout({ time: formatDuration(node.total_timeout) }));
  if (cache !== "") found.push(words.cache({ mode: cache }));
  if (node.prompt_cache !== undefined && node.prompt_cache !== false) found.push(words.promptCache);
  const search = membersOf(membersOf(node.server_tools).web_search);
  const searcher = textOf(search.model) || textOf(membersOf(search.mcp).server);
  if (searcher !== "") found.push(words.webSearch({ source: searcher }));
  if (node.cb_config !== undefined || strategy.cb_config !== undefined) found.push(words.breaker);
  if (strategy.affinity === true) found.push(words.affinity);
  if (membersOf(strategy.sticky).enabled === true) found.push(words.sticky);
  if (textOf(node.custom_host) !== "") found.push(textOf(node.custom_host));
  for (const name of ["override_params", "default_params"] as const) {
    for (const [param, value] of Object.entries(isJsonObject(node[name]) ? node[name] : {})) {
      if (param !== "model") found.push(`${param} = ${JSON.stringify(value)}`);
    }
  }
  for (const param of listOf(node.drop_params)) found.push(words.drops({ name: String(param) }));
  const hooks = ["before_request_hooks", "after_request_hooks", "input_guardrails", "output_guardrails"];
  const guardrails = hooks.reduce((sum, name) => sum + listOf(node[name]).length, 0);
  if (guardrails > 0) found.push(words.guardrails({ count: guardrails }));
  return found;
}

function titleOf(node: JsonObject, isGroup: boolean): string {
  const name = textOf(node.name);
  const model = textOf(membersOf(node.override_params).model);
  const virtualKey = textOf(node.virtual_key);
  const provider = textOf(node.provider) || (virtualKey === "" ? "" : `@${virtualKey}`);
  const target = [provider, model].filter((part) => part !== "").join(" · ");
  if (isGroup) return name;
  const shown = target === "" ? words.ofRequest : target;
  return name === "" ? shown : `${name}: ${shown}`;
}

/** What leads from a group to each of its targets. */
function edgesOf(group: JsonObject, targets: readonly JsonObject[]): readonly (readonly TreeEdge[])[] {
  const strategy = membersOf(group.strategy);
  const codes = [...listOf(strategy.on_status_codes), ...listOf(strategy.on_error_codes)].join(", ");
  switch (strategy.mode) {
    case "fallback":
      return targets.map((_, index) => [
        { label: index === 0 ? words.first : codes === "" ? words.next : words.nextAfter({ codes }) },
      ]);
    case "loadbalance": {
      const weights = targets.map(({ weight }) => (typeof weight === "number" ? weight : 1));
      const sum = weights.reduce((total, weight) => total + weight, 0);
      return weights.map((weight) => [{ label: words.share({ share: formatShare(sum === 0 ? 0 : weight / sum) }) }]);
    }
    case "auto": {
      const rules = listOf(strategy.rules).map(membersOf);
      return targets.map(({ name }) => {
        const own = rules
          .filter(({ then }) => then === name)
          .map(({ query }) => ({ label: words.when({ query: describeQuery(query) }) }));
        return [...own, { label: words.bySize }];
      });
    }
    case "conditional": {
      const conditions = listOf(strategy.conditions).map(membersOf);
      return targets.map(({ name }) => {
        const own = conditions.flatMap(({ query, then }, condition) =>
          then === name ? [{ label: words.when({ query: describeQuery(query) }), condition }] : [],
        );
        const isDefault = strategy.default === name && name !== undefined;
        return isDefault ? [...own, { label: words.otherwise }] : own.length > 0 ? own : [{ label: words.never }];
      });
    }
    default:
      return targets.map((_, index) => [{ label: index === 0 ? words.only : words.never }]);
  }
}

/** The tree of a config; parts that are not a config's are left out. */
export function readTree(value: unknown, path = "config", edges: readonly TreeEdge[] = []): TreeNode {
  const node = membersOf(value);
  const targets = listOf(node.targets);
  const isGroup = targets.length > 0;
  const mode = textOf(membersOf(node.strategy).mode) || (isGroup ? "single" : "");
  const below = isGroup ? edgesOf(node, targets.map(membersOf)) : [];
  return {
    path,
    title: titleOf(node, isGroup),
    mode: isGroup ? mode : undefined,
    edges,
    settings: settingsOf(node),
    children: targets.map((target, index) => readTree(target, `${path}.targets[${index}]`, below[index])),
  };
}
