import assert from "node:assert/strict";

/** One sample of a metric. */
export interface Sample {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** A metric family with its samples. */
export interface ParsedFamily {
  name: string;
  type: string;
  help: string;
  samples: Sample[];
}

/** The labels between braces: each name once, values quoted and escaped. */
function readLabels(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let rest = text;
  while (rest !== "") {
    const [whole = "", name = "", value = ""] = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"/.exec(rest) ?? [];
    assert.notEqual(whole, "", `labels are malformed: ${line}`);
    assert.ok(!Object.hasOwn(labels, name), `label ${name} stands twice: ${line}`);
    labels[name] = value.replaceAll(/\\(["\\n])/g, (_, sign: string) => (sign === "n" ? "\n" : sign));
    rest = rest.slice(whole.length);
    if (rest === "") break;
    assert.ok(rest.startsWith(",") && rest.length > 1, `labels are malformed: ${line}`);
    rest = rest.slice(1);
  }
  return labels;
}

function readSample(line: string): Sample {
  const found = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
  assert.ok(found, `not a sample: ${line}`);
  const [, name = "", labels = "", value = ""] = found;
  assert.match(value, /^(?:[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]Inf|NaN)$/, line);
  return { name, labels: readLabels(labels, line), value: Number(value.replace("Inf", "Infinity")) };
}

/** Names that samples of a family may have. */
function namesOf({ name, type }: ParsedFamily): string[] {
  return type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
}

const seriesOf = ({ labels: { le: _le, ...labels } }: Sample): string =>
  JSON.stringify(Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1)));

/** Buckets ascend and never shrink; the last one is +Inf and equals the count. */
function checkHistogram({ name, samples }: ParsedFamily): void {
  const all = Map.groupBy(samples, seriesOf);
  for (const [series, own] of all) {
    const buckets = own.filter((one) => one.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => Number((labels.le ?? "").replace("Inf", "Infinity")));
    assert.ok(
      bounds.every((bound, index) => index === 0 || bound > (bounds[index - 1] ?? 0)),
      `bounds of ${series}`,
    );
    assert.ok(
      buckets.every(({ value }, index) => index === 0 || value >= (buckets[index - 1]?.value ?? 0)),
      `buckets of ${series} shrink`,
    );
    assert.equal(buckets.at(-1)?.labels.le, "+Inf");
    const counts = own.filter((one) => one.name === `${name}_count`).map(({ value }) => value);
    assert.deepEqual(counts, [buckets.at(-1)?.value]);
    assert.equal(own.filter((one) => one.name === `${name}_sum`).length, 1);
  }
}

/**
 * Reads metrics in the text format, version 0.0.4.
 *
 * @throws {AssertionError} For anything that the format does not allow, and for series that stand twice.
 */
export function readExposition(text: string): Map<string, ParsedFamily> {
  assert.ok(text === "" || text.endsWith("\n"), "the last line has no end");
  const families = new Map<string, ParsedFamily>();
  let current: ParsedFamily | undefined;
  const lines = text.split("\n").slice(0, -1);
  for (const [index, line] of lines.entries()) {
    const [, name, help] = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line) ?? [];
    if (name !== undefined && help !== undefined) {
      assert.ok(!families.has(name), `${name} stands twice`);
      const [, typed, type = ""] = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(lines[index + 1] ?? "") ?? [];
      assert.equal(typed, name, `the type of ${name} follows its help`);
      current = { name, type, help, samples: [] };
      families.set(name, current);
    } else if (line.startsWith("# TYPE ")) assert.match(lines[index - 1] ?? "", /^# HELP /);
    else {
      const sample = readSample(line);
      assert.ok(current && namesOf(current).includes(sample.name), `${line} is in no family`);
      if (current.type !== "gauge") assert.ok(sample.value >= 0, line);
      current.samples.push(sample);
    }
  }
  for (const family of families.values()) {
    assert.notEqual(family.samples.length, 0, `${family.name} has no samples`);
    const series = family.samples.map(({ name, labels }) => name + seriesOf({ name, labels, value: 0 }) + labels.le);
    assert.equal(new Set(series).size, series.length, `a series of ${family.name} stands twice`);
    if (family.type === "histogram") checkHistogram(family);
  }
  return families;
}

/** Samples of a name whose labels include the given ones. */
export function findSamples(
  families: ReadonlyMap<string, ParsedFamily>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Sample[] {
  const family = families.get(name) ?? families.get(name.replace(/_(?:bucket|sum|count)$/, ""));
  return (family?.samples ?? []).filter(
    (sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
}

/** The sum of samples. */
export function sumOf(...of: Parameters<typeof findSamples>): number {
  return findSamples(...of).reduce((sum, { value }) => sum + value, 0);
}
