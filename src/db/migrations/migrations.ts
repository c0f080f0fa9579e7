// Made by scripts/build.ts from the .sql files of this folder. Do not edit: run `npm run build`.

/** One step of the schema: its file's name and its statements, in order. */
export interface Migration {
  readonly id: string;
  readonly statements: readonly string[];
}

/** Every step, oldest first. */
export const migrations: readonly Migration[] = [
  {
    id: "0000_first",
    statements: [
      "CREATE TABLE `api_keys` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`lookup_id` text,\n\t`organisation_id` text NOT NULL,\n\t`workspace_id` text,\n\t`name` text NOT NULL,\n\t`kind` text NOT NULL,\n\t`digest` text NOT NULL,\n\t`masked` text NOT NULL,\n\t`scopes` text NOT NULL,\n\t`status` text NOT NULL,\n\t`expires_at` integer,\n\t`created_at` integer NOT NULL,\n\tFOREIGN KEY (`organisation_id`) REFERENCES `organisations`(`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `api_keys_lookup_id_unique` ON `api_keys` (`lookup_id`);",
      "CREATE INDEX `api_keys_tenant` ON `api_keys` (`organisation_id`,`workspace_id`);",
      "CREATE TABLE `installation` (\n\t`name` text PRIMARY KEY NOT NULL,\n\t`value` text NOT NULL,\n\t`created_at` integer NOT NULL\n);",
      "CREATE TABLE `log_bodies` (\n\t`seq` integer PRIMARY KEY NOT NULL,\n\t`headers` text NOT NULL,\n\t`request` text,\n\t`response` text\n);",
      "CREATE TABLE `logs` (\n\t`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,\n\t`id` text NOT NULL,\n\t`organisation_id` text NOT NULL,\n\t`workspace_id` text,\n\t`api_key_id` text NOT NULL,\n\t`status` integer NOT NULL,\n\t`provider` text,\n\t`model` text,\n\t`trace_id` text NOT NULL,\n\t`details` text NOT NULL\n);",
      "CREATE INDEX `logs_by_workspace` ON `logs` (`workspace_id`,`id`);",
      "CREATE TABLE `organisations` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`name` text NOT NULL,\n\t`slug` text NOT NULL,\n\t`created_at` integer NOT NULL\n);",
      "CREATE UNIQUE INDEX `organisations_slug_unique` ON `organisations` (`slug`);",
      "CREATE TABLE `users` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`organisation_id` text NOT NULL,\n\t`email` text NOT NULL,\n\t`role` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\tFOREIGN KEY (`organisation_id`) REFERENCES `organisations`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `users_email` ON `users` (`organisation_id`,`email`);",
      "CREATE TABLE `workspaces` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`organisation_id` text NOT NULL,\n\t`name` text NOT NULL,\n\t`slug` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\tFOREIGN KEY (`organisation_id`) REFERENCES `organisations`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `workspaces_slug` ON `workspaces` (`organisation_id`,`slug`);",
    ],
  },
  {
    id: "0001_log_intake",
    statements: [
      "-- One row written here becomes a row in `logs` and its bodies in `log_bodies`, under the number the database gave.\nCREATE VIEW `log_intake` AS\n  SELECT `logs`.`id`, `organisation_id`, `workspace_id`, `api_key_id`, `status`, `provider`, `model`, `trace_id`, `details`, `headers`, `request`, `response`\n  FROM `logs` LEFT JOIN `log_bodies` ON `log_bodies`.`seq` = `logs`.`seq`;",
      "CREATE TRIGGER `log_intake_insert` INSTEAD OF INSERT ON `log_intake` BEGIN\n  INSERT INTO `logs` (`id`, `organisation_id`, `workspace_id`, `api_key_id`, `status`, `provider`, `model`, `trace_id`, `details`)\n  VALUES (NEW.`id`, NEW.`organisation_id`, NEW.`workspace_id`, NEW.`api_key_id`, NEW.`status`, NEW.`provider`, NEW.`model`, NEW.`trace_id`, NEW.`details`);\n  INSERT INTO `log_bodies` (`seq`, `headers`, `request`, `response`) VALUES (last_insert_rowid(), NEW.`headers`, NEW.`request`, NEW.`response`);\nEND;",
    ],
  },
];
