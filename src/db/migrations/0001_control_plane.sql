CREATE TABLE `audit_logs` (
	`organisation_id` text NOT NULL,
	`seq` integer NOT NULL,
	`time` integer NOT NULL,
	`request_id` text NOT NULL,
	`method` text NOT NULL,
	`uri` text NOT NULL,
	`query_params` text NOT NULL,
	`request_body` text NOT NULL,
	`request_headers` text NOT NULL,
	`user_id` text NOT NULL,
	`user_type` text NOT NULL,
	`workspace_id` text,
	`resource_type` text NOT NULL,
	`resource_id` text,
	`action` text NOT NULL,
	`response_status_code` integer NOT NULL,
	`client_ip` text NOT NULL,
	`country` text,
	`mac` text NOT NULL,
	PRIMARY KEY(`organisation_id`, `seq`)
);
--> statement-breakpoint
CREATE INDEX `audit_logs_time` ON `audit_logs` (`organisation_id`,`time`);--> statement-breakpoint
CREATE TABLE `changes` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`organisation_id` text NOT NULL,
	`resource` text NOT NULL,
	`record_id` text NOT NULL,
	`time` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `config_versions` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`config_id` text NOT NULL,
	`content` text NOT NULL,
	`owner_id` text NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`config_id`) REFERENCES `configs`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `config_versions_config` ON `config_versions` (`config_id`);--> statement-breakpoint
CREATE TABLE `configs` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`slug` text NOT NULL,
	`name` text NOT NULL,
	`is_default` integer DEFAULT false NOT NULL,
	`status` text NOT NULL,
	`version_id` text NOT NULL,
	`owner_id` text NOT NULL,
	`updated_by` text,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `configs_slug` ON `configs` (`organisation_id`,`slug`);--> statement-breakpoint
CREATE INDEX `configs_workspace` ON `configs` (`organisation_id`,`workspace_id`);--> statement-breakpoint
CREATE TABLE `deployments` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`slug` text NOT NULL,
	`name` text NOT NULL,
	`type` text NOT NULL,
	`status` text NOT NULL,
	`is_default` integer DEFAULT false NOT NULL,
	`connection_status` text DEFAULT 'unknown' NOT NULL,
	`deployment_config` text,
	`tags` text,
	`auth_settings` text DEFAULT '{}' NOT NULL,
	`client_auth_digest` text NOT NULL,
	`masked_client_auth` text NOT NULL,
	`username` text NOT NULL,
	`password_digest` text NOT NULL,
	`masked_password` text NOT NULL,
	`created_by` text NOT NULL,
	`last_synced_at` integer,
	`last_resynced_at` integer,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `deployments_slug` ON `deployments` (`organisation_id`,`slug`);--> statement-breakpoint
CREATE INDEX `deployments_tenant` ON `deployments` (`organisation_id`,`status`);--> statement-breakpoint
CREATE TABLE `integration_models` (
	`organisation_id` text NOT NULL,
	`integration_id` text NOT NULL,
	`slug` text NOT NULL,
	`enabled` integer NOT NULL,
	`is_custom` integer DEFAULT false NOT NULL,
	`is_finetune` integer DEFAULT false NOT NULL,
	`base_model_slug` text,
	`configurations` text,
	`pricing_config` text,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`integration_id`, `slug`),
	FOREIGN KEY (`integration_id`) REFERENCES `integrations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `integration_workspaces` (
	`organisation_id` text NOT NULL,
	`integration_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`enabled` integer NOT NULL,
	`usage_limits` text,
	`rate_limits` text,
	`last_reset_at` integer,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`integration_id`, `workspace_id`),
	FOREIGN KEY (`integration_id`) REFERENCES `integrations`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `integration_workspaces_workspace` ON `integration_workspaces` (`organisation_id`,`workspace_id`);--> statement-breakpoint
CREATE TABLE `integrations` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text,
	`slug` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`ai_provider_id` text NOT NULL,
	`status` text NOT NULL,
	`is_private` integer DEFAULT false NOT NULL,
	`configurations` text DEFAULT '{}' NOT NULL,
	`masked` text DEFAULT '{}' NOT NULL,
	`secret_mappings` text,
	`pricing_adjustments` text,
	`allow_all_models` integer DEFAULT true NOT NULL,
	`global_workspace_access` text,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `integrations_slug` ON `integrations` (`organisation_id`,`slug`);--> statement-breakpoint
CREATE INDEX `integrations_workspace` ON `integrations` (`organisation_id`,`workspace_id`);--> statement-breakpoint
CREATE TABLE `providers` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`slug` text NOT NULL,
	`name` text NOT NULL,
	`integration_id` text NOT NULL,
	`note` text,
	`status` text NOT NULL,
	`usage_limits` text,
	`rate_limits` text,
	`last_reset_at` integer,
	`expires_at` integer,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`integration_id`) REFERENCES `integrations`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `providers_slug` ON `providers` (`workspace_id`,`slug`);--> statement-breakpoint
CREATE INDEX `providers_tenant` ON `providers` (`organisation_id`,`workspace_id`);--> statement-breakpoint
CREATE TABLE `scim_group_members` (
	`organisation_id` text NOT NULL,
	`group_id` text NOT NULL,
	`user_id` text NOT NULL,
	PRIMARY KEY(`group_id`, `user_id`),
	FOREIGN KEY (`group_id`) REFERENCES `scim_groups`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `scim_group_members_user` ON `scim_group_members` (`organisation_id`,`user_id`);--> statement-breakpoint
CREATE TABLE `scim_groups` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`display_name` text NOT NULL,
	`external_id` text,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `scim_groups_name` ON `scim_groups` (`organisation_id`,`display_name`);--> statement-breakpoint
CREATE TABLE `scim_mappings` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`group_id` text NOT NULL,
	`role` text NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`group_id`) REFERENCES `scim_groups`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `scim_mappings_tenant` ON `scim_mappings` (`organisation_id`,`workspace_id`);--> statement-breakpoint
CREATE INDEX `scim_mappings_group` ON `scim_mappings` (`group_id`);--> statement-breakpoint
CREATE TABLE `scim_tokens` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`name` text NOT NULL,
	`lookup_id` text NOT NULL,
	`digest` text NOT NULL,
	`masked` text NOT NULL,
	`expires_at` integer,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `scim_tokens_lookup_id_unique` ON `scim_tokens` (`lookup_id`);--> statement-breakpoint
CREATE TABLE `secret_references` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`slug` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`manager_type` text NOT NULL,
	`auth_config` text NOT NULL,
	`masked` text DEFAULT '{}' NOT NULL,
	`secret_path` text NOT NULL,
	`secret_key` text,
	`allow_all_workspaces` integer DEFAULT true NOT NULL,
	`allowed_workspaces` text,
	`tags` text,
	`status` text NOT NULL,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `secret_references_slug` ON `secret_references` (`organisation_id`,`slug`);--> statement-breakpoint
CREATE TABLE `secrets` (
	`organisation_id` text NOT NULL,
	`workspace_id` text,
	`kind` text NOT NULL,
	`record_id` text NOT NULL,
	`field` text NOT NULL,
	`kek_version` text NOT NULL,
	`wrapped_key` text NOT NULL,
	`sealed` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`kind`, `record_id`, `field`)
);
--> statement-breakpoint
CREATE INDEX `secrets_tenant` ON `secrets` (`organisation_id`);--> statement-breakpoint
CREATE INDEX `secrets_kek` ON `secrets` (`kek_version`);--> statement-breakpoint
CREATE TABLE `invites` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`email` text NOT NULL,
	`role` text NOT NULL,
	`first_name` text,
	`last_name` text,
	`workspaces` text NOT NULL,
	`key_details` text,
	`status` text NOT NULL,
	`token_digest` text NOT NULL,
	`invited_by` text NOT NULL,
	`expires_at` integer NOT NULL,
	`accepted_at` integer,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`organisation_id`) REFERENCES `organisations`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `invites_tenant` ON `invites` (`organisation_id`,`email`);--> statement-breakpoint
CREATE TABLE `workspace_exclusions` (
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`direction` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`organisation_id`, `workspace_id`, `direction`),
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `workspace_members` (
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`user_id` text NOT NULL,
	`role` text NOT NULL,
	`source` text DEFAULT 'manual' NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workspace_id`, `user_id`),
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `workspace_members_user` ON `workspace_members` (`organisation_id`,`user_id`);--> statement-breakpoint
ALTER TABLE `api_keys` ADD `user_id` text REFERENCES users(id);--> statement-breakpoint
ALTER TABLE `api_keys` ADD `description` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `former_digest` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `former_of_any_form` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `transition_ends_at` integer;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `creation_mode` text DEFAULT 'api' NOT NULL;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `rate_limits` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `usage_limits` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `defaults` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `alert_emails` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `rotation_policy` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `last_rotated_at` integer;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `last_reset_at` integer;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `last_updated_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `organisations` ADD `settings` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE `organisations` ADD `auth_settings` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE `organisations` ADD `defaults` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE `organisations` ADD `last_updated_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `users` ADD `first_name` text;--> statement-breakpoint
ALTER TABLE `users` ADD `last_name` text;--> statement-breakpoint
ALTER TABLE `users` ADD `status` text DEFAULT 'active' NOT NULL;--> statement-breakpoint
ALTER TABLE `users` ADD `external_id` text;--> statement-breakpoint
ALTER TABLE `users` ADD `user_name` text;--> statement-breakpoint
ALTER TABLE `users` ADD `last_updated_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `icon` text;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `description` text;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `is_default` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `status` text DEFAULT 'active' NOT NULL;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `defaults` text;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `usage_limits` text;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `rate_limits` text;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `settings` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `security_settings` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `data_plane_security_settings` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `created_by` text;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `last_reset_at` integer;--> statement-breakpoint
ALTER TABLE `workspaces` ADD `last_updated_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE TRIGGER `audit_logs_no_update` BEFORE UPDATE ON `audit_logs` BEGIN SELECT RAISE(ABORT, 'audit rows are never changed'); END;--> statement-breakpoint
CREATE TRIGGER `audit_logs_no_delete` BEFORE DELETE ON `audit_logs` BEGIN SELECT RAISE(ABORT, 'audit rows are never removed'); END;--> statement-breakpoint
UPDATE `workspaces` SET `is_default` = 1 WHERE `slug` = 'default';
