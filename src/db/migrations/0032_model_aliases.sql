CREATE TABLE `model_aliases` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text,
	`name` text NOT NULL,
	`target` text NOT NULL,
	`metadata` text,
	`tags` text,
	`access` text,
	`usage_limits` text,
	`rate_limits` text,
	`last_reset_at` integer,
	`enabled` integer NOT NULL,
	`owner_id` text NOT NULL,
	`updated_by` text,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `model_aliases_name` ON `model_aliases` (`organisation_id`,`workspace_id`,`name`);