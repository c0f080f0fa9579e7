-- readable since: 0033_labels
CREATE TABLE `eval_answers` (
	`run_id` text NOT NULL,
	`example` integer NOT NULL,
	`variant` integer NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`log_id` text,
	`status` integer NOT NULL,
	`latency_ms` real NOT NULL,
	`input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`cost` integer,
	`verdicts` text NOT NULL,
	`sealed` text NOT NULL,
	`rating` integer,
	`rated_by` text,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`run_id`, `example`, `variant`)
);
--> statement-breakpoint
CREATE INDEX `eval_answers_tenant` ON `eval_answers` (`organisation_id`,`workspace_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `eval_runs` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`api_key_id` text NOT NULL,
	`set_id` text NOT NULL,
	`version` integer NOT NULL,
	`name` text,
	`variants` text NOT NULL,
	`checks` text NOT NULL,
	`winner_by` text NOT NULL,
	`min_pass_rate` real NOT NULL,
	`budget` integer NOT NULL,
	`concurrency` integer NOT NULL,
	`status` text NOT NULL,
	`failure` text,
	`total` integer NOT NULL,
	`done` integer DEFAULT 0 NOT NULL,
	`failed` integer DEFAULT 0 NOT NULL,
	`cost` integer DEFAULT 0 NOT NULL,
	`promoted` text,
	`turn` integer DEFAULT 0 NOT NULL,
	`lease_owner` text,
	`lease_until` integer DEFAULT 0 NOT NULL,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`ended_at` integer,
	`expires_at` integer
);
--> statement-breakpoint
CREATE INDEX `eval_runs_tenant` ON `eval_runs` (`organisation_id`,`workspace_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `eval_runs_set` ON `eval_runs` (`set_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `eval_runs_work` ON `eval_runs` (`status`,`lease_until`);