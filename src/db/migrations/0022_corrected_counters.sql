ALTER TABLE `limit_counters` ADD `corrected` real DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `limit_counters` ADD `reset_at` integer;--> statement-breakpoint
CREATE INDEX `limit_counters_corrected` ON `limit_counters` (`window_end`) WHERE corrected <> 0;