import { readFileSync } from "node:fs";
import * as v from "valibot";
import { isObject, parseJson } from "../lib/json.ts";
import { toPrintable } from "../lib/printable.ts";
import { EvalRunDetail, type VariantTotals } from "../schemas/eval-runs.ts";
import { type Command, type CommandParts, type Outcome, UsageError } from "./command.ts";
import { askServedGateway, readServedGateway, servedOptions } from "./served-gateway.ts";

type Values = Readonly<Record<string, string | undefined>>;
type EvalRun = v.InferOutput<typeof EvalRunDetail>;

/** How often it is asked whether the run is over, in milliseconds. */
const pollMs = 1_000;

const variantMembers = ["name", "model", "config", "prompt"];

/** `model=@main/gpt-4o,name=large` as a variant. */
function readVariant(text: string): object {
  const members = text.split(",").map((pair) => {
    const [, name = "", value = ""] = /^([a-z]+)=(.+)$/s.exec(pair) ?? [];
    if (variantMembers.includes(name)) return [name, value] as const;
    throw new UsageError(`Cannot use --variant: write ${variantMembers.map((one) => `${one}=…`).join(", ")}`);
  });
  return Object.fromEntries(members);
}

function readSchema(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new Error(`Cannot read ${toPrintable(path)}`, { cause });
  }
  const schema = parseJson(text);
  if (isObject(schema)) return schema;
  throw new UsageError(`Cannot use ${toPrintable(path)}: it is not a JSON object`);
}

/** What follows the type of a check, by the type. */
const checkForms: Readonly<Record<string, (value: string) => object>> = {
  exact: () => ({}),
  contains: (value) => (value === "" ? {} : { value }),
  guardrail: (guardrail) => ({ guardrail }),
  json_schema: (path) => ({ schema: readSchema(path) }),
  judge: (text) => {
    const [, model, criteria] = /^(\S+)\s+(.+)$/s.exec(text) ?? [];
    if (criteria === undefined) throw new UsageError('Cannot use --check: write "judge=MODEL CRITERIA"');
    return { model, criteria };
  },
};

/** `guardrail=slug` as a check. Checks of one type are numbered. */
function readCheck(text: string, index: number, all: readonly string[]): object {
  const typeOf = (one: string) => one.split("=", 1)[0] ?? "";
  const type = typeOf(text);
  const form = Object.hasOwn(checkForms, type) ? checkForms[type] : undefined;
  if (!form) throw new UsageError(`Cannot use --check: its type is one of ${Object.keys(checkForms).join(", ")}`);
  const before = all.slice(0, index).filter((one) => typeOf(one) === type).length;
  return { type, ...(before > 0 && { name: `${type} ${before + 1}` }), ...form(text.slice(type.length + 1)) };
}

function readNumber(name: string, text: string | undefined): number | undefined {
  const value = text === undefined ? undefined : Number(text);
  if (value === undefined || (text !== "" && Number.isFinite(value))) return value;
  throw new UsageError(`Cannot use --${name}: it must be a number`);
}

const shown = (value: number | null, write: (value: number) => string): string => (value === null ? "-" : write(value));

/** What a variant came to, in one line. */
function describe(totals: VariantTotals, winner: string | null): string {
  const { variant, answers, errors, pass_rate: rate, mean_cost: cost, p50_latency: p50, p95_latency: p95 } = totals;
  const checks = Object.entries(totals.checks).map(
    ([name, share]) => `${name} ${shown(share, (one) => one.toFixed(3))}`,
  );
  const parts = [
    `${variant === winner ? "* " : "  "}${variant}`,
    `passed ${shown(rate, (one) => one.toFixed(3))}${checks.length > 1 ? ` (${checks.join(", ")})` : ""}`,
    `${answers} answers, ${errors} errors`,
    // the run has US cents
    `$${shown(cost, (one) => (one / 100).toFixed(6))} each`,
    `p50 ${shown(p50, (one) => `${Math.round(one)} ms`)}, p95 ${shown(p95, (one) => `${Math.round(one)} ms`)}`,
  ];
  return toPrintable(parts.join("  "));
}

/** What is wrong with a run that is over. */
function problemsOf({ status, failure, totals }: EvalRun, least: number | undefined): string[] {
  const end = status === "completed" ? [] : [`The run ended as ${status}${failure === null ? "" : `: ${failure}`}`];
  const low = totals.filter(({ pass_rate: rate }) => least !== undefined && (rate === null || rate < least));
  return [
    ...end,
    ...low.map(
      ({ variant, pass_rate: rate }) =>
        `${variant} passed ${rate === null ? "nothing" : rate.toFixed(3)} of its checks, below ${least}`,
    ),
  ].map(toPrintable);
}

async function runEval(set: string, values: Values, hasJson: boolean, { lists }: CommandParts): Promise<Outcome> {
  const gateway = readServedGateway(values, "run an eval");
  const least = readNumber("fail-under", values["fail-under"]);
  const body = {
    example_set: set,
    version: readNumber("version", values.version),
    variants: (lists.variant ?? []).map(readVariant),
    checks: (lists.check ?? []).map(readCheck),
    budget_usd: readNumber("budget", values.budget),
    concurrency: readNumber("concurrency", values.concurrency),
  };
  if (body.variants.length === 0) throw new UsageError("Cannot run an eval: --variant is missing");
  if (body.budget_usd === undefined) throw new UsageError("Cannot run an eval: --budget is missing");
  const started = await askServedGateway(gateway, { path: "/v1/eval-runs", body });
  const path = `/v1/eval-runs/${isObject(started) ? started.id : ""}`;
  for (;;) {
    const run = v.parse(EvalRunDetail, await askServedGateway(gateway, { path }));
    if (run.status === "running") {
      await new Promise((resolve) => setTimeout(resolve, pollMs));
      continue;
    }
    const lines = hasJson
      ? [JSON.stringify(run, undefined, 2)]
      : [`run ${run.id}`, ...run.totals.map((totals) => describe(totals, run.winner))];
    return { lines, problems: problemsOf(run, least) };
  }
}

/** Commands of evals. */
export const evalCommands: readonly Command[] = [
  {
    name: "eval run",
    parameters:
      "SET --variant MEMBERS [--variant ...] --budget USD [--check CHECK ...] [--version N] [--concurrency N] [--fail-under SHARE] [--json] [--url URL] [--key KEY]",
    about: [
      "Runs an example set, named by its id or slug, waits for the end, and shows a line for each variant. * marks the winner.",
      "--variant: model=@provider/model, config=SLUG, prompt=SLUG@3 or several with commas, and name=NAME.",
      '--check: exact, contains, contains=TEXT, guardrail=SLUG, json_schema=FILE or "judge=MODEL CRITERIA".',
      "It ends with 1 if the run did not complete, or if a variant passed a smaller share of its checks than --fail-under.",
      "--url is the address of the gateway, --key a key for it: as for logs.",
    ],
    options: ["budget", "version", "concurrency", "fail-under", ...servedOptions],
    lists: ["variant", "check"],
    flags: ["json"],
    positionals: 1,
    run: (values, [set = ""], flags, parts) => runEval(set, values, flags.has("json"), parts),
  },
];
