-- readable since: 0033_labels
CREATE TABLE `saved_view_defaults` (
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`person` text NOT NULL,
	`page` text NOT NULL,
	`view_id` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `person`, `page`)
);
--> statement-breakpoint
CREATE INDEX `saved_view_defaults_tenant` ON `saved_view_defaults` (`organisation_id`,`workspace_id`);--> statement-breakpoint
CREATE TABLE `saved_views` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`page` text NOT NULL,
	`question` text NOT NULL,
	`pinned` integer NOT NULL,
	`audience` text NOT NULL,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE INDEX `saved_views_tenant` ON `saved_views` (`organisation_id`,`workspace_id`,`audience`);