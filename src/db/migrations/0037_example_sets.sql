-- readable since: 0033_labels
CREATE TABLE `example_sets` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`slug` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`version` integer NOT NULL,
	`examples` integer NOT NULL,
	`retention_days` integer,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `example_sets_slug` ON `example_sets` (`workspace_id`,`slug`);--> statement-breakpoint
CREATE INDEX `example_sets_tenant` ON `example_sets` (`organisation_id`,`workspace_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `example_set_versions` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`set_id` text NOT NULL,
	`version` integer NOT NULL,
	`examples` integer NOT NULL,
	`bytes` integer NOT NULL,
	`from_logs` integer NOT NULL,
	`file_id` text NOT NULL,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `example_set_versions_number` ON `example_set_versions` (`set_id`,`version`);--> statement-breakpoint
CREATE INDEX `example_set_versions_tenant` ON `example_set_versions` (`organisation_id`,`workspace_id`,`created_at`);