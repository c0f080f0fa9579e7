/** The database does not respond. It has the message and the code of what the driver threw. */
export class DatabaseAwayError extends Error {
  readonly code: unknown;

  constructor(thrown: Error) {
    super(thrown.message, { cause: thrown.cause });
    this.name = thrown.name;
    this.code = Reflect.get(thrown, "code");
  }
}

/** Causes that are looked at: errors of drivers and those that name what failed. */
const mostCauses = 5;

/** Whether an error, or one of those that caused it, is that of a database that does not respond. */
export function isDatabaseAway(error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < mostCauses && current instanceof Error; depth++) {
    if (current instanceof DatabaseAwayError) return true;
    current = current.cause;
  }
  return false;
}
