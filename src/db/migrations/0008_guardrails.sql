CREATE TABLE `guardrail_versions` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text,
	`guardrail_id` text NOT NULL,
	`content` text NOT NULL,
	`owner_id` text NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`guardrail_id`) REFERENCES `guardrails`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `guardrail_versions_guardrail` ON `guardrail_versions` (`guardrail_id`);--> statement-breakpoint
CREATE TABLE `guardrails` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text,
	`slug` text NOT NULL,
	`name` text NOT NULL,
	`target` text NOT NULL,
	`status` text NOT NULL,
	`version_id` text NOT NULL,
	`owner_id` text NOT NULL,
	`updated_by` text,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `guardrails_slug` ON `guardrails` (`organisation_id`,`slug`);--> statement-breakpoint
CREATE INDEX `guardrails_workspace` ON `guardrails` (`organisation_id`,`workspace_id`);