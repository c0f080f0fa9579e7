CREATE TABLE `mcp_capabilities` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`integration_id` text NOT NULL,
	`type` text NOT NULL,
	`name` text NOT NULL,
	`enabled` integer DEFAULT true NOT NULL,
	`is_listed` integer DEFAULT true NOT NULL,
	`definition` text,
	`definition_hash` text,
	`approved_definition` text,
	`approved_hash` text,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`integration_id`) REFERENCES `mcp_integrations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `mcp_capabilities_name` ON `mcp_capabilities` (`integration_id`,`type`,`name`);--> statement-breakpoint
CREATE INDEX `mcp_capabilities_tenant` ON `mcp_capabilities` (`organisation_id`);--> statement-breakpoint
CREATE TABLE `mcp_integration_workspaces` (
	`organisation_id` text NOT NULL,
	`integration_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`enabled` integer NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`integration_id`, `workspace_id`),
	FOREIGN KEY (`integration_id`) REFERENCES `mcp_integrations`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `mcp_integration_workspaces_workspace` ON `mcp_integration_workspaces` (`organisation_id`,`workspace_id`);--> statement-breakpoint
CREATE TABLE `mcp_integrations` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text,
	`slug` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`owner_id` text NOT NULL,
	`status` text NOT NULL,
	`url` text NOT NULL,
	`transport` text NOT NULL,
	`auth_type` text NOT NULL,
	`configurations` text DEFAULT '{}' NOT NULL,
	`masked` text DEFAULT '{}' NOT NULL,
	`secret_mappings` text,
	`global_workspace_access` text,
	`openapi` text,
	`metadata` text,
	`sync_status` text DEFAULT 'pending' NOT NULL,
	`sync_error` text,
	`last_synced_at` integer,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `mcp_integrations_slug` ON `mcp_integrations` (`organisation_id`,`slug`);--> statement-breakpoint
CREATE INDEX `mcp_integrations_workspace` ON `mcp_integrations` (`organisation_id`,`workspace_id`);--> statement-breakpoint
CREATE TABLE `mcp_server_capabilities` (
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`server_id` text NOT NULL,
	`type` text NOT NULL,
	`name` text NOT NULL,
	`enabled` integer NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`server_id`, `type`, `name`),
	FOREIGN KEY (`server_id`) REFERENCES `mcp_servers`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `mcp_server_capabilities_tenant` ON `mcp_server_capabilities` (`organisation_id`,`workspace_id`);--> statement-breakpoint
CREATE TABLE `mcp_server_guardrails` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`guardrail_id` text NOT NULL,
	`server_id` text NOT NULL,
	`run_on` text NOT NULL,
	`capability_ids` text DEFAULT '[]' NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`guardrail_id`) REFERENCES `guardrails`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`server_id`) REFERENCES `mcp_servers`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `mcp_server_guardrails_pair` ON `mcp_server_guardrails` (`guardrail_id`,`server_id`);--> statement-breakpoint
CREATE INDEX `mcp_server_guardrails_tenant` ON `mcp_server_guardrails` (`organisation_id`,`workspace_id`);--> statement-breakpoint
CREATE TABLE `mcp_server_users` (
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`server_id` text NOT NULL,
	`user_id` text NOT NULL,
	`enabled` integer NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`server_id`, `user_id`),
	FOREIGN KEY (`server_id`) REFERENCES `mcp_servers`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `mcp_server_users_tenant` ON `mcp_server_users` (`organisation_id`,`workspace_id`);--> statement-breakpoint
CREATE TABLE `mcp_servers` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`slug` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`owner_id` text NOT NULL,
	`status` text NOT NULL,
	`integration_id` text,
	`aggregate` text,
	`settings` text DEFAULT '{}' NOT NULL,
	`default_user_access` text DEFAULT 'allow' NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`integration_id`) REFERENCES `mcp_integrations`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `mcp_servers_slug` ON `mcp_servers` (`organisation_id`,`slug`);--> statement-breakpoint
CREATE INDEX `mcp_servers_workspace` ON `mcp_servers` (`organisation_id`,`workspace_id`);