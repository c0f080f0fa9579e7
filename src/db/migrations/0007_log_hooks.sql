CREATE TABLE `log_hooks` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text,
	`log_id` text NOT NULL,
	`results` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `log_hooks_by_log` ON `log_hooks` (`log_id`);