ALTER TABLE `api_keys` DROP COLUMN `rotation_policy`;--> statement-breakpoint
UPDATE `organisations` SET `settings` = json_remove(`settings`, '$.user_api_key_rotation_period') WHERE json_valid(`settings`);--> statement-breakpoint
UPDATE `workspaces` SET `settings` = json_remove(`settings`, '$.user_api_key_rotation_period') WHERE json_valid(`settings`);
