CREATE TABLE `label_policies` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text,
	`description` text,
	`conditions` text NOT NULL,
	`require_labels` text NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `label_policies_workspace` ON `label_policies` (`organisation_id`,`workspace_id`,`status`);--> statement-breakpoint
ALTER TABLE `integrations` ADD `labels` text;