CREATE TABLE `gateway_batches` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`api_key_id` text NOT NULL,
	`status` text NOT NULL,
	`endpoint` text NOT NULL,
	`completion_window` text NOT NULL,
	`model` text,
	`metadata` text,
	`input_file_id` text NOT NULL,
	`output_file_id` text,
	`error_file_id` text,
	`output_seconds` integer,
	`errors` text,
	`total` integer DEFAULT 0 NOT NULL,
	`completed` integer DEFAULT 0 NOT NULL,
	`failed` integer DEFAULT 0 NOT NULL,
	`usage` text,
	`position` integer DEFAULT 0 NOT NULL,
	`turn` integer DEFAULT 0 NOT NULL,
	`lease_owner` text,
	`lease_until` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`in_progress_at` integer,
	`expires_at` integer NOT NULL,
	`finalizing_at` integer,
	`completed_at` integer,
	`failed_at` integer,
	`expired_at` integer,
	`cancelling_at` integer,
	`cancelled_at` integer
);
--> statement-breakpoint
CREATE INDEX `gateway_batches_tenant` ON `gateway_batches` (`organisation_id`,`workspace_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `gateway_batches_work` ON `gateway_batches` (`status`,`lease_until`);--> statement-breakpoint
CREATE TABLE `gateway_file_pieces` (
	`file_id` text NOT NULL,
	`seq` integer NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`content` blob NOT NULL,
	PRIMARY KEY(`file_id`, `seq`)
);
--> statement-breakpoint
CREATE TABLE `gateway_files` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`filename` text NOT NULL,
	`purpose` text NOT NULL,
	`status` text NOT NULL,
	`bytes` integer NOT NULL,
	`storage` text NOT NULL,
	`pieces` integer NOT NULL,
	`piece_bytes` integer NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer
);
--> statement-breakpoint
CREATE INDEX `gateway_files_tenant` ON `gateway_files` (`organisation_id`,`workspace_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `gateway_files_expiry` ON `gateway_files` (`expires_at`);