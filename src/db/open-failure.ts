/** The database cannot be opened or used. The message names it and says what to do. */
export class DatabaseOpenError extends Error {
  override readonly name = "DatabaseOpenError";
  /** Whether it may be there later, as it is: it does not respond. */
  readonly isAway: boolean;

  constructor(message: string, { isAway = false, ...options }: ErrorOptions & { isAway?: boolean } = {}) {
    super(message, options);
    this.isAway = isAway;
  }
}

/** Where a database is, as messages show it: a path, or an address without credentials and parameters. */
export function describeDatabase(url: string): string {
  if (!/^\w+:\/\//.test(url)) return url.replace(/^file:/, "").replace(/[?#].*$/, "");
  const address = URL.parse(url);
  return address ? `${address.protocol}//${address.host}${address.pathname}`.replace(/\/$/, "") : "the database";
}

const backup = "put a backup in its place (docs/operations.md)";
const writable = "let the user of this process write the file and its folder, or set DATABASE_URL";

/** What is wrong, by what SQLite, the operating system or the server says; the first that fits. */
const causes: readonly [RegExp, string][] = [
  [/SQLITE_(?:CORRUPT|NOTADB)|malformed|not a database/, `it is damaged; ${backup}`],
  [/SQLITE_IOERR_SHORT_READ/, `it is not complete; ${backup}`],
  [
    /SQLITE_READONLY|EROFS|EACCES|EPERM|unable to open database file|SQLITE_CANTOPEN/,
    `it cannot be written; ${writable}`,
  ],
  [/SQLITE_FULL|ENOSPC/, "its disk is full"],
  [/SQLITE_BUSY|database is locked/, "another process holds its lock"],
  [/\b401\b|\b403\b|[Uu]nauthori[sz]ed|[Ff]orbidden/, "it refuses the token; check DATABASE_AUTH_TOKEN"],
];

/** The first line of what an error and its causes say. */
function reasonOf(error: unknown): string {
  const reasons: string[] = [];
  for (let current = error; current instanceof Error && reasons.length < 5; current = current.cause) {
    reasons.push(`${Reflect.get(current, "code") ?? ""} ${current.message}`.trim());
  }
  return (reasons.length > 0 ? reasons.join(": ") : String(error)).replace(/\s+/g, " ").slice(0, 300);
}

/**
 * The error of a database that cannot be opened, in one line.
 *
 * @param isUnreachable Whether the database does not respond.
 */
export function toOpenError(error: unknown, url: string, isUnreachable = false): DatabaseOpenError {
  if (error instanceof DatabaseOpenError) return error;
  const reason = reasonOf(error);
  const known = causes.find(([pattern]) => pattern.test(reason));
  return new DatabaseOpenError(
    `Cannot open the database ${describeDatabase(url)} (DATABASE_URL): ${known ? known[1] : reason}`,
    { isAway: isUnreachable && !known },
  );
}
