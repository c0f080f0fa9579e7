CREATE TABLE `feedback` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`api_key_id` text NOT NULL,
	`trace_id` text NOT NULL,
	`value` integer NOT NULL,
	`weight` real NOT NULL,
	`metadata` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE INDEX `feedback_by_workspace` ON `feedback` (`organisation_id`,`workspace_id`);--> statement-breakpoint
CREATE INDEX `feedback_by_time` ON `feedback` (`created_at`);