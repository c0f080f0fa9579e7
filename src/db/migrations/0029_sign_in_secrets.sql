ALTER TABLE `oauth_codes` ADD `key_version` text;--> statement-breakpoint
ALTER TABLE `oauth_families` ADD `key_version` text;