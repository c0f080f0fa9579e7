import { type Command, UsageError } from "./command.ts";

/** What may follow the words of a line. */
interface Step {
  /** Words before the cursor, after the program. */
  readonly before: string;
  readonly words: readonly string[];
}

/** Options of a command as they are written. */
function optionsOf({ options, flags = [], lists = [] }: Command): string[] {
  return [...options, ...flags, ...lists].map((name) => `--${name}`);
}

/** Words of each line, those of longer lines first. */
function stepsOf(commands: readonly Command[]): Step[] {
  const steps = new Map<string, Set<string>>([["", new Set(["--help", "--version"])]]);
  const add = (before: string, words: readonly string[]) => {
    steps.set(before, new Set([...(steps.get(before) ?? []), ...words]));
  };
  for (const command of commands) {
    const [first = "", second] = command.name.split(" ");
    add("", [first]);
    if (second !== undefined) add(first, [second]);
    add(command.name, [...optionsOf(command), "--help"]);
  }
  const length = (before: string) => (before === "" ? 0 : before.split(" ").length);
  return [...steps]
    .map(([before, words]) => ({ before, words: [...words].sort() }))
    .sort((one, other) => length(other.before) - length(one.before));
}

/** Cases of a `case` of bash and zsh. */
function toCases(steps: readonly Step[], write: (words: string) => string): string {
  return steps
    .map(({ before, words }) => `    ${before === "" ? '" "' : `"${before} "*`}) ${write(words.join(" "))} ;;`)
    .join("\n");
}

function forBash(steps: readonly Step[]): string {
  return `_gateway() {
  local line="\${COMP_WORDS[*]:1:COMP_CWORD-1} " words=""
  case "$line" in
${toCases(steps, (words) => `words="${words}"`)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _gateway gateway`;
}

function forZsh(steps: readonly Step[]): string {
  return `#compdef gateway
_gateway() {
  local line="\${(j: :)words[2,CURRENT-1]} "
  local -a found
  case "$line" in
${toCases(steps, (words) => `found=(${words})`)}
  esac
  compadd -- $found || _files
}
if [ "$funcstack[1]" = "_gateway" ]; then _gateway "$@"; else compdef _gateway gateway; fi`;
}

function forFish(steps: readonly Step[]): string {
  const cases = steps.map(
    ({ before, words }) => `    case '${before === "" ? " " : `${before} *`}'\n      printf '%s\\n' ${words.join(" ")}`,
  );
  return `function __gateway_words
  set -l line (string join ' ' -- (commandline -opc)[2..-1])' '
  switch "$line"
${cases.join("\n")}
  end
end
complete -c gateway -a '(__gateway_words)'`;
}

const shells: Readonly<Record<string, (steps: readonly Step[]) => string>> = {
  bash: forBash,
  zsh: forZsh,
  fish: forFish,
};

/**
 * The script by which a shell completes command lines.
 *
 * @throws {UsageError} If the shell is unknown.
 */
export function describeCompletion(shell: string, commands: readonly Command[]): string[] {
  const write = Object.hasOwn(shells, shell) ? shells[shell] : undefined;
  if (!write) throw new UsageError(`Cannot complete for this shell: use ${Object.keys(shells).join(", ")}`);
  return write(stepsOf(commands)).split("\n");
}
