-- readable since: 0033_labels
CREATE TABLE `playground_runs` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`models` text NOT NULL,
	`file_id` text NOT NULL,
	`bytes` integer NOT NULL,
	`audience` text NOT NULL,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	`expires_at` integer
);
--> statement-breakpoint
CREATE INDEX `playground_runs_tenant` ON `playground_runs` (`organisation_id`,`workspace_id`,`audience`);