CREATE TABLE `log_objects` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`organisation_id` text NOT NULL,
	`name` text NOT NULL,
	`last_id` text NOT NULL,
	`state` text NOT NULL,
	`state_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `log_objects_by_state` ON `log_objects` (`state`,`last_id`);--> statement-breakpoint
CREATE TABLE `log_places` (
	`seq` integer PRIMARY KEY NOT NULL,
	`object_id` integer NOT NULL,
	`start` integer NOT NULL,
	`bytes` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `log_places_by_object` ON `log_places` (`object_id`);