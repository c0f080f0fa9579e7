CREATE TABLE `limit_counters` (
	`organisation_id` text NOT NULL,
	`limit_id` text NOT NULL,
	`bucket` text NOT NULL,
	`window_start` integer NOT NULL,
	`window_end` integer,
	`used` real NOT NULL,
	PRIMARY KEY(`organisation_id`, `limit_id`, `bucket`, `window_start`)
);
--> statement-breakpoint
CREATE INDEX `limit_counters_by_end` ON `limit_counters` (`window_end`);