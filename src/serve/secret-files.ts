import { readFileSync, statSync } from "node:fs";
import type { Environment } from "../settings/read.ts";
import { fileVariableOf, listVariables, secretNamesOf } from "../settings/tables/variables.ts";

/** Largest file with a secret, in bytes: keys in PEM form are the longest. */
const maxSecretBytes = 65_536;

function readSecret(path: string, variable: string): string {
  try {
    if (statSync(path).size > maxSecretBytes) throw new RangeError("it is too large");
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    throw new TypeError(`Cannot use ${variable}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const allSecrets = (): string[] => listVariables().flatMap(secretNamesOf);

/**
 * An environment in which the secrets that files hold stand under the names of their variables.
 *
 * @param names Secrets that are read; all by default.
 * @throws {TypeError} Naming the variable whose file is unusable, or that is set beside its file.
 */
export function withSecretFiles(environment: Environment, names: readonly string[] = allSecrets()): Environment {
  const found: Record<string, string> = {};
  for (const name of names) {
    const variable = fileVariableOf(name);
    const path = environment[variable]?.trim() ?? "";
    if (path === "") continue;
    if ((environment[name] ?? "") !== "") throw new TypeError(`Cannot use ${variable}: ${name} is set too`);
    const value = readSecret(path, variable);
    if (value === "") throw new TypeError(`Cannot use ${variable}: ${path} is empty`);
    found[name] = value;
  }
  return { ...environment, ...found };
}
