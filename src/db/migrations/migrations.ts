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
      "CREATE TABLE `log_bodies` (\n\t`seq` integer PRIMARY KEY NOT NULL,\n\t`content` text\n);",
      "CREATE TABLE `logs` (\n\t`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,\n\t`id` text NOT NULL,\n\t`workspace_id` text,\n\t`details` text NOT NULL,\n\t`organisation_id` text GENERATED ALWAYS AS (details ->> '$.organisation_id') VIRTUAL,\n\t`api_key_id` text GENERATED ALWAYS AS (details ->> '$.api_key_id') VIRTUAL,\n\t`status` integer GENERATED ALWAYS AS (details ->> '$.status') VIRTUAL,\n\t`provider` text GENERATED ALWAYS AS (details ->> '$.provider') VIRTUAL,\n\t`model` text GENERATED ALWAYS AS (details ->> '$.model') VIRTUAL,\n\t`trace_id` text GENERATED ALWAYS AS (details ->> '$.trace_id') VIRTUAL\n);",
      "CREATE INDEX `logs_by_workspace` ON `logs` (`workspace_id`,`id`);",
      "CREATE TABLE `organisations` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`name` text NOT NULL,\n\t`slug` text NOT NULL,\n\t`created_at` integer NOT NULL\n);",
      "CREATE UNIQUE INDEX `organisations_slug_unique` ON `organisations` (`slug`);",
      "CREATE TABLE `users` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`organisation_id` text NOT NULL,\n\t`email` text NOT NULL,\n\t`role` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\tFOREIGN KEY (`organisation_id`) REFERENCES `organisations`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `users_email` ON `users` (`organisation_id`,`email`);",
      "CREATE TABLE `workspaces` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`organisation_id` text NOT NULL,\n\t`name` text NOT NULL,\n\t`slug` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\tFOREIGN KEY (`organisation_id`) REFERENCES `organisations`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `workspaces_slug` ON `workspaces` (`organisation_id`,`slug`);",
    ],
  },
];
