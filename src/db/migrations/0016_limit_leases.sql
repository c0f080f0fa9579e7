CREATE TABLE `gateway_nodes` (
	`id` text PRIMARY KEY NOT NULL,
	`seen_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `limit_leases` (
	`organisation_id` text NOT NULL,
	`limit_id` text NOT NULL,
	`bucket` text NOT NULL,
	`window_start` integer NOT NULL,
	`window_end` integer,
	`node_id` text NOT NULL,
	`number` integer NOT NULL,
	`granted` real NOT NULL,
	`used` real NOT NULL,
	`is_closed` integer NOT NULL,
	PRIMARY KEY(`organisation_id`, `limit_id`, `bucket`, `window_start`, `node_id`, `number`)
);
--> statement-breakpoint
CREATE INDEX `limit_leases_by_node` ON `limit_leases` (`node_id`);--> statement-breakpoint
CREATE INDEX `limit_leases_by_end` ON `limit_leases` (`window_end`);