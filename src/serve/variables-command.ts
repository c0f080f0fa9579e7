import { type Variable, variables } from "../settings/tables/variables.ts";

/** Markdown as text of a terminal: links by their words, code without quotes. */
const toPlain = (markdown: string): string => markdown.replace(/\[([^\]]+)\]\([^)]+\)/g, "$1").replaceAll("`", "");

function describe({ name, default: standard, least, most, meaning }: Variable): string[] {
  const bounds = least === undefined ? "" : `, ${least} to ${most}`;
  return [`  ${[name].flat().join(", ")} (default: ${toPlain(standard)}${bounds})`, `      ${toPlain(meaning)}`];
}

/** The environment variables, in the order and the sections of docs/configuration.md. */
export function describeVariables(): string[] {
  return Object.entries(variables).flatMap(([section, rows]: [string, readonly Variable[]]) => [
    `${section.replace(/-\d+$/, "").replaceAll("-", " ")}:`,
    ...rows.flatMap(describe),
    "",
  ]);
}
