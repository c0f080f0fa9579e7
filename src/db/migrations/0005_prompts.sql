CREATE TABLE `collections` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`slug` text NOT NULL,
	`name` text NOT NULL,
	`parent_collection_id` text,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `collections_slug` ON `collections` (`organisation_id`,`slug`);--> statement-breakpoint
CREATE INDEX `collections_workspace` ON `collections` (`organisation_id`,`workspace_id`);--> statement-breakpoint
CREATE TABLE `labels` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`color_code` text,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `labels_name` ON `labels` (`workspace_id`,`name`);--> statement-breakpoint
CREATE TABLE `prompt_partial_versions` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`partial_id` text NOT NULL,
	`version` integer NOT NULL,
	`template` text NOT NULL,
	`description` text,
	`owner_id` text NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`partial_id`) REFERENCES `prompt_partials`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `prompt_partial_versions_number` ON `prompt_partial_versions` (`partial_id`,`version`);--> statement-breakpoint
CREATE TABLE `prompt_partials` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`slug` text NOT NULL,
	`name` text NOT NULL,
	`collection_id` text NOT NULL,
	`status` text NOT NULL,
	`version` integer NOT NULL,
	`version_id` text NOT NULL,
	`latest_version` integer NOT NULL,
	`latest_version_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `prompt_partials_slug` ON `prompt_partials` (`organisation_id`,`slug`);--> statement-breakpoint
CREATE INDEX `prompt_partials_workspace` ON `prompt_partials` (`organisation_id`,`workspace_id`);--> statement-breakpoint
CREATE INDEX `prompt_partials_collection` ON `prompt_partials` (`collection_id`);--> statement-breakpoint
CREATE TABLE `prompt_labels` (
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`prompt_id` text NOT NULL,
	`label_id` text NOT NULL,
	`version_id` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`prompt_id`, `label_id`),
	FOREIGN KEY (`prompt_id`) REFERENCES `prompts`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `prompt_labels_label` ON `prompt_labels` (`label_id`);--> statement-breakpoint
CREATE TABLE `prompt_versions` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`prompt_id` text NOT NULL,
	`version` integer NOT NULL,
	`template` text NOT NULL,
	`parameters` text NOT NULL,
	`model` text,
	`virtual_key` text NOT NULL,
	`functions` text,
	`tools` text,
	`tool_choice` text,
	`is_raw_template` integer NOT NULL,
	`description` text,
	`metadata` text,
	`owner_id` text NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`prompt_id`) REFERENCES `prompts`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `prompt_versions_number` ON `prompt_versions` (`prompt_id`,`version`);--> statement-breakpoint
CREATE TABLE `prompts` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`slug` text NOT NULL,
	`name` text NOT NULL,
	`collection_id` text NOT NULL,
	`status` text NOT NULL,
	`model` text,
	`version` integer NOT NULL,
	`version_id` text NOT NULL,
	`latest_version` integer NOT NULL,
	`latest_version_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `prompts_slug` ON `prompts` (`organisation_id`,`slug`);--> statement-breakpoint
CREATE INDEX `prompts_workspace` ON `prompts` (`organisation_id`,`workspace_id`);--> statement-breakpoint
CREATE INDEX `prompts_collection` ON `prompts` (`collection_id`);