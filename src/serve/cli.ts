import process from "node:process";
import { parseArgs } from "node:util";
import { stringOf } from "../lib/json.ts";
import { version } from "../version.ts";
import { type Command, UsageError } from "./command.ts";
import { commandExamples } from "./command-examples.ts";
import { commands } from "./commands.ts";

/** Describes an error for operators: messages and causes, without the stack. */
export function describeFailure(error: unknown): string {
  const messages: string[] = [];
  let current = error;
  while (current instanceof Error && messages.length < 5) {
    if (!messages.includes(current.message)) messages.push(current.message);
    current = current.cause;
  }
  return messages.length > 0 ? messages.join("\n  because: ") : String(error);
}

function usage(): string {
  const shown = commands.flatMap(({ name, parameters, about }) => [
    `  ${name}${parameters && ` ${parameters}`}`,
    ...about.map((line) => `      ${line}`),
  ]);
  return `Usage: gateway [command]

Without a command it serves. Commands read the same environment variables and files as the server: "variables" lists them.

${shown.join("\n")}

  -h, --help
      Shows this; behind a command, its options with examples.
  --version
      Shows the version.

Ends with 0 when it is done, 1 when something is refused, fails or is found broken, 2 when the command is not understood. With --plan, 2 means that there is something to do.`;
}

/** Options and examples of one command. */
function usageOf({ name, parameters, about }: Command): string {
  const examples = (commandExamples[name] ?? []).map((line) => `  gateway ${line}`);
  return [
    `Usage: gateway ${name}${parameters && ` ${parameters}`}`,
    "",
    ...about.map((line) => `  ${line}`),
    "",
    "Examples:",
    ...examples,
  ].join("\n");
}

function lookUpCommand(args: readonly string[]): Command | undefined {
  return commands.find(({ name }) => name.split(" ").every((word, index) => args[index] === word));
}

function findCommand(args: readonly string[]): Command {
  const found = lookUpCommand(args);
  if (found) return found;
  throw new UsageError(`Cannot run "${args.slice(0, 2).join(" ")}": there is no such command`);
}

/** Options and positional arguments of a command. */
function readArguments(command: Command, args: readonly string[]) {
  const { options: names, flags: flagNames = [], lists: listNames = [] } = command;
  const options: Record<string, { type: "string" | "boolean"; multiple?: boolean; short?: string }> = {};
  for (const name of names) {
    const short = command.shorts?.[name];
    options[name] = { type: "string", ...(short !== undefined && { short }) };
  }
  for (const name of flagNames) options[name] = { type: "boolean" };
  for (const name of listNames) options[name] = { type: "string", multiple: true };
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
    if (positionals.length !== command.positionals) throw new Error("the number of arguments is wrong");
    const strings = Object.fromEntries(names.map((name) => [name, stringOf(values[name])]));
    const lists = Object.fromEntries(listNames.map((name) => [name, [values[name] ?? []].flat().map(String)]));
    return { values: strings, lists, positionals, flags: new Set(flagNames.filter((name) => values[name] === true)) };
  } catch (error) {
    throw new UsageError(`Cannot run ${command.name}: ${error instanceof Error ? error.message : error}`);
  }
}

/**
 * Runs a command line: returns exit code and the lines for standard output and standard error.
 *
 * @param show Shows a line of a command that does not end.
 */
export async function answerCommand(
  args: readonly string[],
  show: (line: string) => void = () => {},
): Promise<{ code: number; lines: string[]; problems: string[] }> {
  const named = lookUpCommand(args);
  const help = named ? usageOf(named) : usage();
  if (args.includes("--help") || args.includes("-h")) return { code: 0, lines: [help], problems: [] };
  if (args[0] === "--version") return { code: 0, lines: [version], problems: [] };
  let hasPlan = false;
  try {
    const command = findCommand(args);
    hasPlan = command.hasPlan === true;
    const { values, lists, positionals, flags } = readArguments(command, args.slice(command.name.split(" ").length));
    const { lines, problems = [], code = 0 } = await command.run(values, positionals, flags, { lists, print: show });
    return { code: problems.length > 0 ? 1 : code, lines, problems };
  } catch (error) {
    const isMisuse = error instanceof UsageError;
    const problem = isMisuse ? `${error.message}\n\n${help}` : describeFailure(error);
    return { code: isMisuse && !hasPlan ? 2 : 1, lines: [], problems: [problem] };
  }
}

/** Writes lines and waits until they are flushed. */
async function print(stream: NodeJS.WriteStream, lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return;
  await new Promise<void>((resolve) => stream.write(`${lines.join("\n")}\n`, () => resolve()));
}

/** Runs an operator command; the result is the exit code. */
export async function runCommand(args: readonly string[]): Promise<number> {
  // who reads the output may end before, as `head` does
  process.stdout.on("error", () => process.exit(0));
  const { code, lines, problems } = await answerCommand(args, (line) => void process.stdout.write(`${line}\n`));
  await print(process.stdout, lines);
  await print(process.stderr, problems);
  return code;
}
