/** A line of what must hold. */
export interface Verdict {
  /** What is measured. */
  readonly line: string;
  readonly figure: number;
  /** The figure must be at most this. */
  readonly most: number;
  readonly unit: string;
}

/** Prints whether a figure is within its limit. A figure beyond it makes the process fail when it exits. */
export function judge({ line, figure, most, unit }: Verdict): void {
  const holds = figure <= most;
  const digits = Number.isInteger(figure) ? 0 : 2;
  console.log(`${holds ? "holds" : "fails"}: ${line}: ${figure.toFixed(digits)} ${unit} (at most ${most} ${unit})`);
  if (!holds) process.exitCode = 1;
}
