/**
 * Writes Unix milliseconds in ISO 8601, as `Date` does. All but the milliseconds is written once for all times of one
 * second: for times that are written for every request.
 */
export function createTimeWriter(): (ms: number) => string {
  let known = Number.NaN;
  let written = "";
  let second = Number.NaN;
  let beginning = "";
  return (ms) => {
    if (ms === known) return written;
    const inSecond = Math.floor(ms / 1_000);
    if (inSecond !== second) {
      beginning = new Date(inSecond * 1_000).toISOString().slice(0, -"000Z".length);
      second = inSecond;
    }
    const rest = Math.floor(ms) - inSecond * 1_000;
    written = `${beginning}${String(rest).padStart(3, "0")}Z`;
    known = ms;
    return written;
  };
}
