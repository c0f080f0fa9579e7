// Stands for the module that opens database files, which Workers do not have.

export class SqliteError extends Error {}
export default class Database {
  constructor() {
    throw new Error("Cannot open a database file on Workers: set DATABASE_URL to a libSQL server");
  }
}
