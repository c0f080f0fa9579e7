-- readable since: 0033_labels
CREATE TABLE `alert_events` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`rule_id` text NOT NULL,
	`type` text NOT NULL,
	`name` text NOT NULL,
	`metric` text NOT NULL,
	`threshold` real NOT NULL,
	`window_seconds` integer NOT NULL,
	`value` real,
	`requests` integer,
	`sent` text NOT NULL,
	`problem` text,
	`attempts` integer DEFAULT 0 NOT NULL,
	`next_attempt_at` integer,
	`lease_owner` text,
	`lease_until` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `alert_events_rule` ON `alert_events` (`organisation_id`,`workspace_id`,`rule_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `alert_events_due` ON `alert_events` (`next_attempt_at`);--> statement-breakpoint
CREATE TABLE `alert_rules` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`metric` text NOT NULL,
	`filter` text NOT NULL,
	`threshold` real NOT NULL,
	`window_seconds` integer NOT NULL,
	`min_requests` integer NOT NULL,
	`cooldown_seconds` integer NOT NULL,
	`enabled` integer NOT NULL,
	`destinations` text NOT NULL,
	`state` text NOT NULL,
	`value` real,
	`requests` integer,
	`evaluated_at` integer,
	`last_fired_at` integer,
	`is_open` integer NOT NULL,
	`next_evaluation_at` integer NOT NULL,
	`lease_owner` text,
	`lease_until` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE INDEX `alert_rules_tenant` ON `alert_rules` (`organisation_id`,`workspace_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `alert_rules_due` ON `alert_rules` (`next_evaluation_at`);