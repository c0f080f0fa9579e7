import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { readYaml } from "../../src/declared/yaml.ts";
import { isObject } from "../../src/lib/json.ts";
import type { Moved } from "../../src/moving/draft.ts";
import { moveEnvironment } from "../../src/moving/openrouter.ts";
import { configurations } from "./configurations.ts";

const added = "zz_never_read";

/** Every object in a value, with its path. */
function objectsIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (Array.isArray(value)) return value.flatMap((one, index) => objectsIn(one, [...path, String(index)]));
  if (!isObject(value)) return [];
  return [path, ...Object.entries(value).flatMap(([name, one]) => objectsIn(one, [...path, name]))];
}

/** A copy of a value with one more member in the object at a path. */
function withMember(value: unknown, [name, ...path]: readonly string[], member: unknown): unknown {
  if (name === undefined) return { ...(isObject(value) ? value : {}), [added]: member };
  if (Array.isArray(value)) return value.with(Number(name), withMember(value[Number(name)], path, member));
  return isObject(value) ? { ...value, [name]: withMember(value[name], path, member) } : value;
}

/** Whether a report names a path, or all of what is around it; or the member was carried over as it is. */
function isSaid({ notes, document, models }: Moved, path: string): boolean {
  const isNamed = notes.some(({ what }) => {
    const named = what.split(/[ :]/)[0] ?? "";
    return what.includes(added) || path === named || path.startsWith(`${named}.`);
  });
  return isNamed || models.includes(added) || JSON.stringify(document).includes(added);
}

for (const { name, text, move } of configurations.filter(({ text }) => text !== "{}")) {
  test(`${name}: the report names a member that no importer reads, wherever it stands`, async () => {
    const file = await readYaml(new TextEncoder().encode(text), name);
    for (const member of ["x", 7, true, { deep: 1 }, ["y"]]) {
      for (const path of objectsIn(file)) {
        const moved = move(withMember(file, path, member));
        const place = [...path, added].join(".");
        assert.ok(isSaid(moved, place), `${place} as ${JSON.stringify(member)} is not in the report`);
      }
    }
  });

  test(`${name}: a value of another type than expected is in the report`, async () => {
    const file = await readYaml(new TextEncoder().encode(text), name);
    for (const path of leavesOf(file)) {
      const place = path.join(".");
      const moved = move(replaceLeaf(file, path, { [added]: 1 }));
      assert.ok(saysNothing.test(place) || isSaid(moved, place), `${place} is not in the report`);
    }
  });
}

/** Members that are there for readers alone. */
const saysNothing = /(?:^\$schema|\.object|\.total|\.hash|\.id|\.description|\.masked_key)$/;

function* leavesOf(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  if (Array.isArray(value)) for (const [index, one] of value.entries()) yield* leavesOf(one, [...path, String(index)]);
  else if (isObject(value)) for (const [name, one] of Object.entries(value)) yield* leavesOf(one, [...path, name]);
  else yield path;
}

function replaceLeaf(value: unknown, [name, ...path]: readonly string[], member: unknown): unknown {
  if (name === undefined) return member;
  if (Array.isArray(value)) return value.with(Number(name), replaceLeaf(value[Number(name)], path, member));
  return isObject(value) ? { ...value, [name]: replaceLeaf(value[name], path, member) } : value;
}

test("each page that a report names exists", () => {
  const folder = new URL("../../src/moving/", import.meta.url);
  const texts = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), "utf8"));
  const pages = new Set(texts.flatMap((text) => text.match(/\bdocs\/[a-z-]+\.md/g) ?? []));
  assert.ok(pages.size > 10);
  for (const page of pages) assert.ok(existsSync(new URL(`../../${page}`, import.meta.url)), page);
});

test("the environment: the report names variables that look like settings of providers, and no others", () => {
  const environment = { OPENAI_API_KEY: "a", OPENAI_ORG_ID: "b", NVIDIA_API_KEY: "c", AZURE_API_BASE: "d", HOME: "e" };
  const left = moveEnvironment(environment, "default").notes.filter(({ outcome }) => outcome === "left");
  assert.deepEqual(
    left.map(({ what }) => what),
    ["OPENAI_ORG_ID", "NVIDIA_API_KEY", "AZURE_API_BASE"],
  );
});
