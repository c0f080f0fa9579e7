ALTER TABLE `gateway_batches` ADD `cost` integer;--> statement-breakpoint
ALTER TABLE `gateway_batches` ADD `provider` text;--> statement-breakpoint
ALTER TABLE `gateway_batches` ADD `provider_options` text;--> statement-breakpoint
ALTER TABLE `gateway_batches` ADD `provider_file_id` text;--> statement-breakpoint
ALTER TABLE `gateway_batches` ADD `provider_asked_at` integer;--> statement-breakpoint
ALTER TABLE `gateway_batches` ADD `provider_batch_id` text;--> statement-breakpoint
ALTER TABLE `gateway_batches` ADD `provider_status` text;--> statement-breakpoint
ALTER TABLE `gateway_batches` ADD `provider_batch` text;--> statement-breakpoint
ALTER TABLE `gateway_batches` ADD `collected` integer DEFAULT 0 NOT NULL;