CREATE TABLE `cache_entries` (
	`key` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`namespace` text NOT NULL,
	`bytes` integer NOT NULL,
	`stored_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`sealed` blob NOT NULL
);
--> statement-breakpoint
CREATE INDEX `cache_entries_by_time` ON `cache_entries` (`stored_at`,`bytes`);--> statement-breakpoint
CREATE INDEX `cache_entries_expiring` ON `cache_entries` (`expires_at`);--> statement-breakpoint
CREATE INDEX `cache_entries_tenant` ON `cache_entries` (`organisation_id`,`workspace_id`,`namespace`);--> statement-breakpoint
CREATE TABLE `cache_vectors` (
	`key` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`namespace` text NOT NULL,
	`partition` text NOT NULL,
	`stored_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`vector` F32_BLOB NOT NULL
);
--> statement-breakpoint
CREATE INDEX `cache_vectors_partition` ON `cache_vectors` (`organisation_id`,`partition`,`stored_at`);--> statement-breakpoint
CREATE INDEX `cache_vectors_expiring` ON `cache_vectors` (`expires_at`);--> statement-breakpoint
CREATE INDEX `cache_vectors_tenant` ON `cache_vectors` (`organisation_id`,`workspace_id`,`namespace`);