CREATE TABLE `log_changes` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`seq` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `log_columns` (
	`segment_id` integer NOT NULL,
	`field` text NOT NULL,
	`data` blob NOT NULL,
	PRIMARY KEY(`segment_id`, `field`)
);
--> statement-breakpoint
CREATE TABLE `log_segments` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`first_seq` integer NOT NULL,
	`last_seq` integer NOT NULL,
	`rows` integer NOT NULL,
	`change` integer NOT NULL,
	`replaces` integer,
	`state` text NOT NULL,
	`state_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `log_segments_by_state` ON `log_segments` (`state`,`last_seq`);--> statement-breakpoint
CREATE TABLE `log_slices` (
	`segment_id` integer NOT NULL,
	`first_row` integer NOT NULL,
	`end_row` integer NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text,
	`first_id` text NOT NULL,
	`last_id` text NOT NULL,
	PRIMARY KEY(`segment_id`, `first_row`)
);
--> statement-breakpoint
CREATE INDEX `log_slices_by_tenant` ON `log_slices` (`organisation_id`,`segment_id`);--> statement-breakpoint
CREATE TRIGGER `log_batches_changed` AFTER UPDATE OF `details` ON `log_batches` BEGIN INSERT INTO `log_changes` (`seq`) VALUES (NEW.`seq`); END;
