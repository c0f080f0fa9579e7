CREATE TABLE `limit_alerts` (
	`organisation_id` text NOT NULL,
	`limit_id` text NOT NULL,
	`bucket` text NOT NULL,
	`window_start` integer NOT NULL,
	`kind` text NOT NULL,
	`bound` real NOT NULL,
	`id` text NOT NULL,
	`budget_id` text NOT NULL,
	`holder_kind` text NOT NULL,
	`holder_id` text NOT NULL,
	`workspace_id` text,
	`counts` text NOT NULL,
	`used` real NOT NULL,
	`most` real NOT NULL,
	`alert_at` real,
	`window_end` integer,
	`at` integer NOT NULL,
	`webhook_sent_at` integer,
	`mail_sent_at` integer,
	`attempts` integer NOT NULL,
	`next_attempt_at` integer,
	PRIMARY KEY(`organisation_id`, `limit_id`, `bucket`, `window_start`, `kind`, `bound`)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `limit_alerts_id` ON `limit_alerts` (`id`);--> statement-breakpoint
CREATE INDEX `limit_alerts_due` ON `limit_alerts` (`next_attempt_at`);--> statement-breakpoint
CREATE INDEX `limit_alerts_by_end` ON `limit_alerts` (`window_end`);--> statement-breakpoint
CREATE TRIGGER `limit_counters_lowered` AFTER UPDATE OF `used` ON `limit_counters` WHEN NEW.`used` < OLD.`used` BEGIN DELETE FROM `limit_alerts` WHERE `organisation_id` = NEW.`organisation_id` AND `limit_id` = NEW.`limit_id` AND `bucket` = NEW.`bucket` AND `window_start` = NEW.`window_start` AND `bound` > NEW.`used`; END;--> statement-breakpoint
CREATE TRIGGER `limit_counters_begun_below` AFTER INSERT ON `limit_counters` WHEN NEW.`used` < 0 BEGIN DELETE FROM `limit_alerts` WHERE `organisation_id` = NEW.`organisation_id` AND `limit_id` = NEW.`limit_id` AND `bucket` = NEW.`bucket` AND `window_start` = NEW.`window_start` AND `bound` > NEW.`used`; END;
