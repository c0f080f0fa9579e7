/** What an axis has to show. */
export interface AxisRange {
  readonly least: number;
  readonly most: number;
  /** Only whole numbers stand at the axis. */
  readonly isCount: boolean;
}

/** Steps of an axis between its ends, about. */
const wantedSteps = 4;

/** The smallest of 1, 2 and 5 × 10ⁿ that is at least a size. */
function roundStep(size: number): number {
  const power = 10 ** Math.floor(Math.log10(size));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= size * (1 - 1e-9)) ?? 10;
  return step * power;
}

/** Places of an axis in round steps, from 0 or below to what covers the range. */
export function toTicks({ least, most, isCount }: AxisRange): readonly number[] {
  const [from, to] = [Math.min(0, least), Math.max(0, most)];
  const wanted = to === from ? 1 / wantedSteps : (to - from) / wantedSteps;
  const step = isCount ? Math.max(1, roundStep(wanted)) : roundStep(wanted);
  const first = Math.floor(from / step + 1e-9);
  const last = Math.max(first + 1, Math.ceil(to / step - 1e-9));
  // a sum of steps such as 0.1 would end in 0.30000000000000004
  return Array.from({ length: last - first + 1 }, (_, place) => Number(((first + place) * step).toPrecision(12)));
}
