import type { CallerContext } from "../../context.ts";
import { isObject, objectsIn, stringOrEmpty } from "../../lib/json.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import { countCodeLines, scorePrompt, tierOf } from "../../routing/auto-score.ts";
import { ConditionWork, holds, type RequestFact, type RequestFacts } from "../../routing/conditions.ts";
import type { ConfigNode, Strategy } from "../../routing/config.ts";
import type { AutoDecision } from "../../routing/plan.ts";
import { estimateInput, stringsOf } from "../call/estimate-usage.ts";
import type { RequestConfig } from "../target/saved-config.ts";
import { classify } from "./classifier.ts";
import { chatOperations } from "./model-fit.ts";
import { readTraits } from "./request-traits.ts";

type Members = Readonly<Record<string, unknown>>;
type AutoStrategy = Extract<Strategy, { mode: "auto" }>;

/** What was decided for each group that chooses by what is in the request. */
export type AutoDecisions = ReadonlyMap<ConfigNode, AutoDecision>;

/** Groups of configs that choose by what is in the request. */
const autoGroups = new WeakMap<ConfigNode, readonly ConfigNode[]>();

function listAutoGroups(node: ConfigNode): readonly ConfigNode[] {
  const below = node.targets.flatMap(listAutoGroups);
  return node.strategy?.mode === "auto" ? [node, ...below] : below;
}

/** Groups of a config that choose by what is in the request; empty without any. */
export function autoGroupsOf(node: ConfigNode): readonly ConfigNode[] {
  const known = autoGroups.get(node) ?? listAutoGroups(node);
  autoGroups.set(node, known);
  return known;
}

/** The text of a message in any dialect; empty where it has only other parts, such as results of calls. */
function textOfMessage({ content, parts }: Members): string {
  const said = content ?? parts;
  if (typeof said === "string") return said;
  return objectsIn(said)
    .filter(({ type }) => type === undefined || type === "text" || type === "input_text")
    .map(({ text }) => stringOrEmpty(text))
    .join("\n");
}

/** What the user said, in order. */
function saidByUser({ messages, input, contents, prompt }: Members): string[] {
  const alone = [input, prompt].find((one) => typeof one === "string");
  if (typeof alone === "string") return [alone];
  return objectsIn(messages ?? input ?? contents)
    .filter(({ role }) => role === "user")
    .map(textOfMessage)
    .filter((text) => text.trim() !== "");
}

/** Functions of a request, also those in declarations of the Gemini API. */
function countTools({ tools, functions }: Members): number {
  const count = (tool: Members) =>
    Math.max(1, objectsIn(tool.functionDeclarations ?? tool.function_declarations).length);
  return objectsIn(tools).reduce((sum, tool) => sum + count(tool), objectsIn(functions).length);
}

/** What the user said last, and how often the user said something. */
interface Prompt {
  text: string;
  turns: number;
}

function readPrompt(request: Members): Prompt {
  const said = saidByUser(request);
  return { text: said.at(-1) ?? "", turns: said.length };
}

/** Characters by which a language is recognised. */
const languageSample = 1_000;
/** Loaded on first use: one megabyte. */
const loadDetector = () => import("eld/extrasmall").then(({ eld }) => eld);
let loading: ReturnType<typeof loadDetector> | undefined;

/** The language of a text by its code of ISO 639-1; empty where it has no words. */
async function languageOf(text: string): Promise<string> {
  loading ??= loadDetector();
  return (await loading).detect(text.slice(0, languageSample)).language;
}

type FactReader = (request: Members, prompt: Prompt, context: CallerContext) => unknown;

/** What rules may ask for, as `request.<name>`. */
const factReaders: Readonly<Record<RequestFact, FactReader>> = {
  tokens: (request, _, { services }) => estimateInput(request, services.countTokens),
  characters: (_, { text }) => text.length,
  images: (request) => readTraits(request).images,
  tools: countTools,
  code: (_, { text }) => text.includes("```") || countCodeLines(text) >= 3,
  language: (_, { text }) => languageOf(text),
  turns: (_, { turns }) => turns,
};

/** What the rules of a group ask for. */
async function readFacts(
  { asked }: AutoStrategy,
  { request, prompt }: Pick<DecisionInput, "request" | "prompt">,
  context: CallerContext,
): Promise<Members> {
  const facts: Record<string, unknown> = {};
  for (const name of asked) facts[name] = await factReaders[name](request, prompt, context);
  return facts;
}

/** What a decision is made from. */
interface DecisionInput {
  request: Members;
  facts: RequestFacts;
  prompt: Prompt;
  config: RequestConfig;
  /** False: a classifier is not called. */
  mayCall: boolean;
}

/** The first rule that holds, else what the classifier says, else how hard the request is by what is in it. */
async function decide(
  node: ConfigNode,
  strategy: AutoStrategy,
  { request, facts, prompt, config, mayCall }: DecisionInput,
  context: CallerContext,
): Promise<AutoDecision> {
  const work = new ConditionWork();
  const place = strategy.rules.findIndex(({ query }) => holds(query, facts, work));
  const rule = strategy.rules[place];
  if (rule) return { target: rule.then, by: "rule", reason: `rule ${place + 1} holds` };
  const { classifier } = strategy;
  const asked = { node, view: config.view, mayCall };
  const found = classifier && (await classify(prompt.text, asked, classifier, context));
  const problems: string[] = [];
  if (found && "target" in found) {
    const { target, confidence } = found;
    const sure = `${classifier.kind}, confidence ${confidence.toFixed(2)}`;
    const isTarget = node.targets.some(({ name }) => name === target);
    if (isTarget && confidence >= classifier.confidence) return { target, by: "classifier", reason: sure };
    problems.push(`the classifier is not sure (${sure})`);
  } else if (found) {
    problems.push(found.problem);
  }
  const characters = stringsOf(request).reduce((sum, text) => sum + text.length, 0);
  const { score, signals } = scorePrompt({ ...prompt, characters, tools: countTools(request) });
  const target = node.targets[tierOf(score, node.targets.length)]?.name ?? "";
  const reason = signals.length === 0 ? "nothing makes it hard" : signals.join("; ");
  return { target, by: "score", reason: [...problems, `score ${score}: ${reason}`].join("; ") };
}

async function decideAll(
  nodes: readonly ConfigNode[],
  request: Members,
  { config, mayCall }: Pick<DecisionInput, "config" | "mayCall">,
  context: CallerContext,
): Promise<AutoDecisions> {
  const prompt = readPrompt(request);
  const facts = { metadata: context.metadata, params: request, pathname: context.url.pathname };
  const found = new Map<ConfigNode, AutoDecision>();
  for (const node of nodes) {
    const { strategy } = node;
    if (strategy?.mode !== "auto") continue;
    const own = strategy.asked.length === 0 ? {} : await readFacts(strategy, { request, prompt }, context);
    const input = { request, facts: { ...facts, request: own }, prompt, config, mayCall };
    found.set(node, await decide(node, strategy, input, context));
  }
  return found;
}

/**
 * Which targets the groups of a config choose that go by what is in the request; undefined for configs without such groups.
 *
 * @param mayCall False: nothing is called, and of classifiers only remembered answers count. Default: true.
 */
export function decideAuto(
  config: RequestConfig,
  { operation, value, mayCall = true }: { operation: OperationName; value: Members; mayCall?: boolean },
  context: CallerContext,
): AutoDecisions | undefined | Promise<AutoDecisions> {
  const nodes = autoGroupsOf(config.node);
  if (nodes.length === 0 || !chatOperations.has(operation) || !isObject(value)) return undefined;
  return decideAll(nodes, value, { config, mayCall }, context);
}
