-- readable since: 0033_labels
ALTER TABLE `api_keys` ADD `priority` text;--> statement-breakpoint
ALTER TABLE `rate_limit_policies` ADD `queue` text;