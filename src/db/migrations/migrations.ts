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
      "CREATE TABLE `log_batches` (\n\t`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,\n\t`organisation_id` text NOT NULL,\n\t`workspace_id` text,\n\t`first_id` text NOT NULL,\n\t`last_id` text NOT NULL,\n\t`details` text NOT NULL\n);",
      "CREATE INDEX `log_batches_by_workspace` ON `log_batches` (`workspace_id`,`last_id`,`first_id`);",
      "CREATE INDEX `log_batches_by_organisation` ON `log_batches` (`organisation_id`,`last_id`,`first_id`);",
      "CREATE TABLE `log_bodies` (\n\t`seq` integer PRIMARY KEY NOT NULL,\n\t`content` text NOT NULL\n);",
      "CREATE TABLE `organisations` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`name` text NOT NULL,\n\t`slug` text NOT NULL,\n\t`created_at` integer NOT NULL\n);",
      "CREATE UNIQUE INDEX `organisations_slug_unique` ON `organisations` (`slug`);",
      "CREATE TABLE `users` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`organisation_id` text NOT NULL,\n\t`email` text NOT NULL,\n\t`role` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\tFOREIGN KEY (`organisation_id`) REFERENCES `organisations`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `users_email` ON `users` (`organisation_id`,`email`);",
      "CREATE TABLE `workspaces` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`organisation_id` text NOT NULL,\n\t`name` text NOT NULL,\n\t`slug` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\tFOREIGN KEY (`organisation_id`) REFERENCES `organisations`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `workspaces_slug` ON `workspaces` (`organisation_id`,`slug`);",
    ],
  },
];
