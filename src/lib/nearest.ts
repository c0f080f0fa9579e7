/** Longer names are not compared. */
const maxLength = 64;

/** Edit distance of two names (Levenshtein). */
function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (let column = 0; column < other.length; column++) {
      const changed = (row[column] ?? 0) + (letter === other[column] ? 0 : 1);
      next.push(Math.min(changed, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}

/** Known names similar to one, nearest first, at most three. */
export function findNearest(name: string, known: Iterable<string>): string[] {
  const wanted = name.trim().toLowerCase();
  if (wanted === "" || wanted.length > maxLength) return [];
  const near: { one: string; distance: number }[] = [];
  for (const one of known) {
    const isPart = wanted.length >= 3 && (one.startsWith(wanted) || wanted.startsWith(one));
    const distance = isPart ? 1 : distanceOf(wanted, one);
    if (distance < wanted.length - 1 && distance <= Math.max(2, Math.floor(wanted.length / 3)))
      near.push({ one, distance });
  }
  near.sort((left, right) => left.distance - right.distance);
  return near.slice(0, 3).map(({ one }) => one);
}
