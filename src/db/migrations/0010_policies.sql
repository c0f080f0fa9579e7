CREATE TABLE `rate_limit_policies` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text,
	`description` text,
	`conditions` text NOT NULL,
	`group_by` text NOT NULL,
	`type` text NOT NULL,
	`unit` text NOT NULL,
	`value` real NOT NULL,
	`target` text NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `rate_limit_policies_workspace` ON `rate_limit_policies` (`organisation_id`,`workspace_id`,`status`);--> statement-breakpoint
CREATE TABLE `usage_limit_policies` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text,
	`description` text,
	`conditions` text NOT NULL,
	`group_by` text NOT NULL,
	`type` text NOT NULL,
	`credit_limit` real NOT NULL,
	`alert_threshold` real,
	`periodic_reset` text,
	`periodic_reset_days` integer,
	`next_usage_reset_at` integer,
	`last_reset_at` integer,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `usage_limit_policies_workspace` ON `usage_limit_policies` (`organisation_id`,`workspace_id`,`status`);