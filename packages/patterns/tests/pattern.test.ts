import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { RE2JS } from "re2js";
import { compilePattern, Pattern, PatternSum } from "../src/pattern.ts";
import { estimatePatternSize } from "../src/size.ts";
import { type Steps, stepsPerPiece } from "../src/steps.ts";

/** Seed of every property here; a failure prints it again, with the path to the case. */
const seed = 20_260_114;
fc.configureGlobal({ seed });
const seeded = (name: string) => `${name} (seed ${seed})`;

/** Runs all of the work at once. */
function runNow<Result>(work: Steps<Result>, most: number): Result {
  for (let spent = 0; ; ) {
    const { done, value } = work.next();
    if (done) return value;
    spent += value;
    assert.ok(spent <= most, `more than ${most} steps`);
  }
}

const atom = fc.constantFrom(
  "a",
  "b",
  ".",
  "[ab]",
  "[^a]",
  "\\d",
  "\\w",
  "\\b",
  "\\B",
  "^",
  "$",
  "(?i)A",
  "(?i)k",
  "\\pL",
  "[[:alpha:]]",
  "é",
  "🙂",
  "[]a]",
  "[^]a]",
  "\\Qa*\\E",
  "(?m)^",
  "(?s).",
  "\\x{1F642}",
  "[\\pL-]",
  "\\p{Lu}",
  "[a\\]b]",
);
const repetition = fc.constantFrom("*", "+", "?", "*?", "+?", "??", "{2}", "{0,3}", "{1,}", "{2,5}?", "{0}", "{,2}");
const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 4 },
    { weight: 2, arbitrary: atom },
    { weight: 2, arbitrary: fc.tuple(tie("pattern"), tie("pattern")).map((parts) => parts.join("")) },
    { weight: 1, arbitrary: fc.tuple(tie("pattern"), tie("pattern")).map((parts) => `(?:${parts.join("|")})`) },
    { weight: 1, arbitrary: tie("pattern").map((inner) => `(${inner})`) },
    { weight: 2, arbitrary: fc.tuple(tie("pattern"), repetition).map(([inner, times]) => `(?:${inner})${times}`) },
    { weight: 1, arbitrary: fc.tuple(tie("pattern"), repetition).map(([inner, times]) => `(?:${inner})(?i)${times}`) },
  ),
}));
const characters = ["a", "b", "c", "A", "K", "\u212a", " ", "1", "\n", "é", "🙂", "_", "-", "\ud83d", "\ude42"];
const text = fc.array(fc.constantFrom(...characters), { maxLength: 12 }).map((list) => list.join(""));

function compile(written: string, flags = ""): Pattern {
  const compiled = compilePattern(written, new PatternSum(100_000), flags);
  assert.ok(compiled instanceof Pattern, String(compiled));
  return compiled;
}

function compileByLibrary(written: string): RE2JS | undefined {
  try {
    return RE2JS.compile(written);
  } catch {
    return undefined;
  }
}

/** Strings, and ones that are long enough for the automaton. */
const searchedText = fc.oneof(
  text,
  fc
    .tuple(text, text, text)
    .map(([one, other, third]) => `${one.repeat(9)}${" é-".repeat(24)}${other}\n${third.repeat(5)}`),
);

test(seeded("Pattern finds what RE2 finds, and its groups"), () => {
  fc.assert(
    fc.property(pattern, searchedText, (written, searched) => {
      const library = compileByLibrary(written);
      if (!library || library.programSize() > 2_500) return;
      const own = compile(written);
      const matcher = library.matcher(searched);
      const match = runNow(own.find(searched), 1_000_000);
      assert.ok(match === undefined || own.mayMatch(searched));
      if (!matcher.find()) return assert.equal(match, undefined);
      assert.deepEqual(match, { start: matcher.start(), end: matcher.end() });
      const groups = Array.from({ length: matcher.groupCount() + 1 }, (_, index) => matcher.group(index) ?? undefined);
      assert.deepEqual(runNow(own.findGroups(searched, match), 1_000_000), groups);
    }),
    { numRuns: 4_000 },
  );
});

test(seeded("no match of a longer text begins before Pattern.opensAt()"), () => {
  fc.assert(
    fc.property(pattern, searchedText, text, fc.nat(40), (written, begun, more, from) => {
      if (!compileByLibrary(written) || from > begun.length) return;
      const own = compile(written);
      const opens = own.opensAt(begun, from);
      assert.ok(opens >= from && opens <= begun.length);
      const match = runNow(own.find(begun + more, from), 1_000_000);
      if (match) assert.ok(match.start >= opens, `${match.start} is before ${opens}`);
    }),
    { numRuns: 4_000 },
  );
});

test(seeded("estimatePatternSize() is never too low"), () => {
  fc.assert(
    fc.property(pattern, (written) => {
      const library = compileByLibrary(written);
      if (library) assert.ok(estimatePatternSize(written) >= library.programSize(), written);
    }),
    { numRuns: 4_000 },
  );
});

for (const written of [
  `(?:${"a".repeat(900)}){1000}`,
  `(?:${"a".repeat(900)})(?i){1000}`,
  `(?:${"[a]".repeat(300)}){1000}`,
  `(?:\\Q[\\E${"a".repeat(900)}){1000}`,
  `(?:${"\\pL".repeat(300)}){0,1000}`,
  "(?:.?){1000}(?:.?){1000}",
]) {
  test(`compilePattern() refuses what repeats too much before it takes long: ${written.slice(0, 20)}`, () => {
    assert.match(String(compilePattern(written, new PatternSum(100_000))), /^must repeat less/);
  });
}

test("compilePattern() refuses what is too much with the patterns before it", () => {
  const sum = new PatternSum(1_500);
  assert.ok(compilePattern("a{1000}", sum) instanceof Pattern);
  const size = sum.size;
  assert.match(String(compilePattern("b{1000}", sum)), /too many or too large patterns/);
  assert.equal(sum.size, size);
  assert.ok(compilePattern("b", sum) instanceof Pattern);
});

for (const [written, length] of [
  ["(a+)+$", 2_500_000],
  // too large for an automaton
  ["((a+)+|c{300})$", 100_000],
] as const) {
  test(`a search for ${written} can be interrupted all along a long text, and counts its steps`, () => {
    const steps = [...compile(written).find(`${"a".repeat(length)}b`)];
    assert.ok(steps.length > 10, `${steps.length}`);
    assert.ok(steps.every((count) => count < 2 * stepsPerPiece));
    const sum = steps.reduce((total, count) => total + count, 0);
    assert.ok(sum >= length >> 3 && sum <= length * compile(written).size * 3, `${sum}`);
  });
}

for (const [written, found] of [
  ["\\d{3}-[a-c]", "123-b"],
  ["[a-c]{2}\\x{1F642}", "ab🙂"],
  ["\\x{1F642}[0-9]", "🙂7"],
  ["(?i)kab", "\u212aAB"],
] as const) {
  test(`a match of ${written} is found wherever it begins in a long text`, () => {
    const own = compile(written);
    for (let before = 65_536 - 12; before < 65_536 + 12; before++) {
      const long = `${"x".repeat(before)}${found}${"y".repeat(70_000)}`;
      assert.deepEqual(runNow(own.find(long), 10_000_000), { start: before, end: before + found.length });
      assert.deepEqual(runNow(own.find(long, before), 10_000_000), { start: before, end: before + found.length });
      assert.equal(runNow(own.find(long, before + 1), 10_000_000), undefined);
    }
  });
}

test("searches of many strings at a time, and ones that need many states, find what they should", () => {
  const many = compile("(?:a|b)*a(?:a|b){12}c");
  const letters = fc.array(fc.constantFrom("a", "b", "d"), { minLength: 400, maxLength: 400 });
  const written = fc.sample(letters, { numRuns: 40, seed: 7 }).map((one) => one.join(""));
  const searched = [...written, ...written.map((one) => `${one}a${"b".repeat(12)}c`)];
  const searches = searched.map((one) => ({ one, work: many.find(one), found: undefined as unknown, isDone: false }));
  while (searches.some(({ isDone }) => !isDone)) {
    for (const search of searches.filter(({ isDone }) => !isDone)) {
      const { done, value } = search.work.next();
      if (done) Object.assign(search, { isDone: true, found: value });
    }
  }
  for (const { one, found } of searches) {
    const end = one.endsWith("c") ? one.length : -1;
    assert.equal((found as { end: number } | undefined)?.end ?? -1, end);
  }
});

test("characters of many classes are distinguished", () => {
  const letters = Array.from({ length: 90 }, (_, index) => String.fromCodePoint(0x100 + index * 3));
  const each = compile(letters.map((one) => `${one}x`).join("|"));
  for (const one of letters) {
    assert.deepEqual(runNow(each.find(`${"\u4e00".repeat(99)}${one}x`), 1_000_000), { start: 99, end: 101 });
    assert.equal(runNow(each.find(`${"x".repeat(99)}${one}y\u4e00x`), 1_000_000), undefined);
  }
});

test("compilePattern() accepts flags", () => {
  assert.deepEqual(runNow(compile("^B.c$", "ims").find("a\nb\nC"), 10_000), { start: 2, end: 5 });
});
