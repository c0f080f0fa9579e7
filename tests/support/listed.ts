import assert from "node:assert/strict";

/**
 * Fails if a list of the tests does not have exactly what it must have.
 *
 * @param list Where it stands: its name, and what an entry of it is.
 */
export function requireListed(names: Iterable<string>, listed: Iterable<string>, list: string): void {
  const wanted = new Set(names);
  const found = new Set(listed);
  const problems = [
    ...[...wanted].filter((name) => !found.has(name)).map((name) => `${list} has no entry for ${name}`),
    ...[...found]
      .filter((name) => !wanted.has(name))
      .map((name) => `${list} has an entry for ${name}, which does not exist`),
  ];
  assert.equal(problems.join("\n"), "");
}
