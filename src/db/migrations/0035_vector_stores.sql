-- readable since: 0033_labels
CREATE TABLE `vector_store_blocks` (
	`store_id` text NOT NULL,
	`file_id` text NOT NULL,
	`seq` integer NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`vectors` blob NOT NULL,
	`content` blob NOT NULL,
	PRIMARY KEY(`store_id`, `file_id`, `seq`)
);
--> statement-breakpoint
CREATE TABLE `vector_store_files` (
	`store_id` text NOT NULL,
	`file_id` text NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`filename` text NOT NULL,
	`api_key_id` text NOT NULL,
	`batch_id` text,
	`status` text NOT NULL,
	`error_code` text,
	`error_message` text,
	`chunk_tokens` integer NOT NULL,
	`chunk_overlap` integer NOT NULL,
	`attributes` text,
	`position` integer DEFAULT 0 NOT NULL,
	`bytes` integer DEFAULT 0 NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`turn` integer DEFAULT 0 NOT NULL,
	`lease_owner` text,
	`lease_until` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`store_id`, `file_id`)
);
--> statement-breakpoint
CREATE INDEX `vector_store_files_tenant` ON `vector_store_files` (`organisation_id`,`workspace_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `vector_store_files_file` ON `vector_store_files` (`file_id`);--> statement-breakpoint
CREATE INDEX `vector_store_files_work` ON `vector_store_files` (`status`,`lease_until`);--> statement-breakpoint
CREATE TABLE `vector_stores` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text,
	`metadata` text,
	`status` text NOT NULL,
	`embeddings` text NOT NULL,
	`dimensions` integer,
	`length` integer,
	`expires_days` integer,
	`last_active_at` integer NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `vector_stores_tenant` ON `vector_stores` (`organisation_id`,`workspace_id`,`created_at`);