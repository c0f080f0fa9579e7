// The text format of metrics, version 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/).

/** Media type of the text format. */
export const expositionType = "text/plain; version=0.0.4; charset=utf-8";

/** A metric family: its name, type and help. */
export interface Family {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
}

const special = /[\\"\n]/;

/** A label value as it stands between quotes. */
function escapeValue(value: string): string {
  if (!special.test(value)) return value;
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

/** Labels as they stand between braces. Two lists of labels have the same text only if they are equal. */
export function toLabels(labels: Readonly<Record<string, string>>): string {
  let text = "";
  for (const name in labels) text += `${text === "" ? "" : ","}${name}="${escapeValue(labels[name] ?? "")}"`;
  return text;
}

/** The line of one sample. */
export function toSample(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${value}\n`;
}

/** A family with its samples; empty without samples. */
export function toFamily({ name, type, help }: Family, samples: string): string {
  return samples === "" ? "" : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples}`;
}

/** A family with a single sample. */
export function toSingle(family: Family, value: number, labels = ""): string {
  return toFamily(family, toSample(family.name, labels, value));
}

/** Observations of one series, counted by their size. */
export class Histogram {
  readonly #bounds: readonly number[];
  /** One more than bounds: the last counts what exceeds all of them. */
  readonly #counts: Float64Array;
  #sum = 0;

  /** @param bounds Upper bounds, ascending. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let index = 0;
    while (value > (this.#bounds[index] ?? Number.POSITIVE_INFINITY)) index++;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#sum += value;
  }

  /** Its samples; empty before the first observation. */
  toSamples(name: string, labels: string): string {
    const lead = labels === "" ? "" : `${labels},`;
    let total = 0;
    let text = "";
    for (const [index, count] of this.#counts.entries()) {
      total += count;
      text += toSample(`${name}_bucket`, `${lead}le="${this.#bounds[index] ?? "+Inf"}"`, total);
    }
    if (total === 0) return "";
    return text + toSample(`${name}_sum`, labels, this.#sum) + toSample(`${name}_count`, labels, total);
  }
}
