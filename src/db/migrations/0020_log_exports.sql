CREATE TABLE `log_exports` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`description` text,
	`filters` text NOT NULL,
	`requested_data` text NOT NULL,
	`status` text NOT NULL,
	`failure` text,
	`created_by` text NOT NULL,
	`user_id` text,
	`total` integer DEFAULT 0 NOT NULL,
	`file_id` text,
	`cursor` text DEFAULT '' NOT NULL,
	`skipped` integer DEFAULT 0 NOT NULL,
	`written` integer DEFAULT 0 NOT NULL,
	`bytes` integer DEFAULT 0 NOT NULL,
	`failures` integer DEFAULT 0 NOT NULL,
	`turn` integer DEFAULT 0 NOT NULL,
	`lease_owner` text,
	`lease_until` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE INDEX `log_exports_tenant` ON `log_exports` (`organisation_id`,`workspace_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `log_exports_work` ON `log_exports` (`status`,`lease_until`);