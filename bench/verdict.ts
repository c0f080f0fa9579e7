/** A line of what must hold. */
export interface Verdict {
  /** What is measured. */
  readonly line: string;
  readonly figure: number;
  /** The figure must be at most this. */
  readonly most: number;
  readonly unit: string;
  /** Digits behind the point. Default: 2, none for whole figures. */
  readonly digits?: number;
}

/** Prints whether a figure is within its limit. A figure beyond it makes the process fail when it exits. */
export function judge({ line, figure, most, unit, digits = Number.isInteger(figure) ? 0 : 2 }: Verdict): void {
  const holds = figure <= most;
  console.log(`${holds ? "holds" : "fails"}: ${line}: ${figure.toFixed(digits)} ${unit} (at most ${most} ${unit})`);
  if (!holds) process.exitCode = 1;
}
