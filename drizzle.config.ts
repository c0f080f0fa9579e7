// After a change in src/db/tables, make the next migration and the module that holds them all:
//   node scripts/run.mjs bun x drizzle-kit generate --name what_changed
//   npm run build

import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "sqlite",
  schema: "./src/db/tables/*.ts",
  out: "./src/db/migrations",
});
