// Tables of docs/configuration.md.

import { fileVariableOf, secretNamesOf, type Variable, variables } from "../src/settings/tables/variables.ts";

const cell = (text: string): string => text.replaceAll("|", "\\|");

function rowOf(row: Variable): string {
  const { name, default: standard, meaning } = row;
  const files = secretNamesOf(row).map(fileVariableOf);
  const names = [name, files].flat().map((one) => `\`${one}\``);
  return `| ${[names.join(", "), standard, meaning].map(cell).join(" | ")} |`;
}

const tableOf = (rows: readonly Variable[]): string =>
  ["| variable | default | meaning |", "|---|---|---|", ...rows.map(rowOf)].join("\n");

/**
 * The page with its tables made anew. What stands around them is written by hand.
 *
 * @throws {Error} If a section has no place on the page, or a place has no section.
 */
export function configurationDocument(page: string): string {
  const missing = new Set(Object.keys(variables));
  const sections: Readonly<Record<string, readonly Variable[]>> = variables;
  const made = page.replace(
    /(<!-- variables: ([a-z0-9-]+) -->\n)[\s\S]*?(\n<!-- end of variables -->)/g,
    (_, ...parts) => {
      const [begin, section, end] = parts.map(String);
      const rows = sections[section ?? ""];
      if (!rows) throw new Error(`docs/configuration.md: no section of variables is called ${section}`);
      missing.delete(section ?? "");
      return `${begin}${tableOf(rows)}${end}`;
    },
  );
  if (missing.size > 0) throw new Error(`docs/configuration.md has no place for ${[...missing].join(", ")}`);
  return made;
}
