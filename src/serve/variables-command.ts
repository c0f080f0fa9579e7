import { fileVariableOf, secretNamesOf, type Variable, variables } from "../settings/tables/variables.ts";

/** Markdown as text of a terminal: links by their words, code without quotes. */
const toPlain = (markdown: string): string => markdown.replace(/\[([^\]]+)\]\([^)]+\)/g, "$1").replaceAll("`", "");

function describe(row: Variable): string[] {
  const { name, default: standard, least, most, meaning } = row;
  const names = [name, secretNamesOf(row).map(fileVariableOf)].flat();
  const bounds = least === undefined ? "" : `, ${least} to ${most}`;
  return [`  ${names.join(", ")} (default: ${toPlain(standard)}${bounds})`, `      ${toPlain(meaning)}`];
}

/** The environment variables as JSON shows them. */
export function listVariables(): object[] {
  return Object.entries(variables).flatMap(([section, rows]: [string, readonly Variable[]]) =>
    rows.map((row) => ({
      name: row.name,
      files: secretNamesOf(row).map(fileVariableOf),
      section: section.replace(/-\d+$/, ""),
      default: toPlain(row.default),
      ...(row.least !== undefined && { least: row.least, most: row.most }),
      meaning: toPlain(row.meaning),
    })),
  );
}

/** The environment variables, in the order and the sections of docs/configuration.md. */
export function describeVariables(): string[] {
  return Object.entries(variables).flatMap(([section, rows]: [string, readonly Variable[]]) => [
    `${section.replace(/-\d+$/, "").replaceAll("-", " ")}:`,
    ...rows.flatMap(describe),
    "",
  ]);
}
