CREATE TABLE `__new_labels` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text,
	`name` text NOT NULL,
	`description` text,
	`color_code` text,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
INSERT INTO `__new_labels`("id", "organisation_id", "workspace_id", "name", "description", "color_code", "created_at", "last_updated_at") SELECT "id", "organisation_id", "workspace_id", "name", "description", "color_code", "created_at", "last_updated_at" FROM `labels`;--> statement-breakpoint
DROP TABLE `labels`;--> statement-breakpoint
ALTER TABLE `__new_labels` RENAME TO `labels`;--> statement-breakpoint
CREATE UNIQUE INDEX `labels_name` ON `labels` (`workspace_id`,`name`);--> statement-breakpoint
CREATE UNIQUE INDEX `labels_organisation_name` ON `labels` (`organisation_id`,`name`) WHERE workspace_id IS NULL;