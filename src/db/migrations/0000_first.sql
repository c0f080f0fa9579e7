CREATE TABLE `api_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`lookup_id` text,
	`organisation_id` text NOT NULL,
	`workspace_id` text,
	`name` text NOT NULL,
	`kind` text NOT NULL,
	`digest` text NOT NULL,
	`masked` text NOT NULL,
	`scopes` text NOT NULL,
	`status` text NOT NULL,
	`expires_at` integer,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`organisation_id`) REFERENCES `organisations`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_lookup_id_unique` ON `api_keys` (`lookup_id`);--> statement-breakpoint
CREATE INDEX `api_keys_tenant` ON `api_keys` (`organisation_id`,`workspace_id`);--> statement-breakpoint
CREATE TABLE `installation` (
	`name` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `log_batches` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text,
	`first_id` text NOT NULL,
	`last_id` text NOT NULL,
	`details` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `log_batches_by_workspace` ON `log_batches` (`workspace_id`,`last_id`,`first_id`);--> statement-breakpoint
CREATE INDEX `log_batches_by_organisation` ON `log_batches` (`organisation_id`,`last_id`,`first_id`);--> statement-breakpoint
CREATE TABLE `log_bodies` (
	`seq` integer PRIMARY KEY NOT NULL,
	`content` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `organisations` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`slug` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `organisations_slug_unique` ON `organisations` (`slug`);--> statement-breakpoint
CREATE TABLE `users` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`email` text NOT NULL,
	`role` text NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`organisation_id`) REFERENCES `organisations`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `users_email` ON `users` (`organisation_id`,`email`);--> statement-breakpoint
CREATE TABLE `workspaces` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`name` text NOT NULL,
	`slug` text NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`organisation_id`) REFERENCES `organisations`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `workspaces_slug` ON `workspaces` (`organisation_id`,`slug`);