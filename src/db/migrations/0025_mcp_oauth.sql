CREATE TABLE `mcp_connections` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`user_id` text NOT NULL,
	`server_id` text NOT NULL,
	`issuer` text NOT NULL,
	`status` text NOT NULL,
	`wanted_scope` text,
	`scope` text,
	`version` integer NOT NULL,
	`expires_at` integer,
	`locked_until` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE INDEX `mcp_connections_server` ON `mcp_connections` (`organisation_id`,`workspace_id`,`server_id`);--> statement-breakpoint
CREATE INDEX `mcp_connections_user` ON `mcp_connections` (`organisation_id`,`user_id`);--> statement-breakpoint
CREATE TABLE `mcp_registrations` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`integration_id` text NOT NULL,
	`issuer` text NOT NULL,
	`client_id` text NOT NULL,
	`auth_method` text NOT NULL,
	`expires_at` integer,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `oauth_clients` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text,
	`workspace_id` text,
	`kind` text NOT NULL,
	`name` text NOT NULL,
	`redirect_uris` text NOT NULL,
	`grant_types` text NOT NULL,
	`auth_method` text NOT NULL,
	`secret_digest` text,
	`masked` text,
	`jwks` text,
	`jwks_uri` text,
	`scope` text NOT NULL,
	`application_type` text NOT NULL,
	`digest` text NOT NULL,
	`fresh_until` integer,
	`last_used_at` integer NOT NULL,
	`created_by` text,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `oauth_clients_tenant` ON `oauth_clients` (`organisation_id`);--> statement-breakpoint
CREATE INDEX `oauth_clients_used` ON `oauth_clients` (`kind`,`last_used_at`);--> statement-breakpoint
CREATE TABLE `oauth_codes` (
	`digest` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`user_id` text NOT NULL,
	`client_id` text NOT NULL,
	`server_id` text NOT NULL,
	`resource` text NOT NULL,
	`scope` text NOT NULL,
	`key_id` text,
	`redirect_uri` text NOT NULL,
	`code_challenge` text NOT NULL,
	`family_id` text,
	`expires_at` integer NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `oauth_codes_expiry` ON `oauth_codes` (`expires_at`);--> statement-breakpoint
CREATE TABLE `oauth_consents` (
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`user_id` text NOT NULL,
	`client_id` text NOT NULL,
	`server_id` text NOT NULL,
	`scope` text NOT NULL,
	`client_digest` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_updated_at` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`organisation_id`, `user_id`, `client_id`, `server_id`)
);
--> statement-breakpoint
CREATE TABLE `oauth_families` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`user_id` text NOT NULL,
	`client_id` text NOT NULL,
	`server_id` text NOT NULL,
	`resource` text NOT NULL,
	`scope` text NOT NULL,
	`key_id` text,
	`sequence` integer NOT NULL,
	`rotated_at` integer NOT NULL,
	`revoked_at` integer,
	`expires_at` integer NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `oauth_families_user` ON `oauth_families` (`organisation_id`,`user_id`);--> statement-breakpoint
CREATE INDEX `oauth_families_client` ON `oauth_families` (`client_id`);--> statement-breakpoint
CREATE INDEX `oauth_families_expiry` ON `oauth_families` (`expires_at`);--> statement-breakpoint
CREATE TABLE `oauth_nonces` (
	`digest` text PRIMARY KEY NOT NULL,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `oauth_nonces_expiry` ON `oauth_nonces` (`expires_at`);--> statement-breakpoint
CREATE TABLE `oauth_revocations` (
	`id` text PRIMARY KEY NOT NULL,
	`organisation_id` text NOT NULL,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `oauth_revocations_expiry` ON `oauth_revocations` (`expires_at`);--> statement-breakpoint
CREATE TABLE `signing_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`purpose` text NOT NULL,
	`algorithm` text NOT NULL,
	`public_jwk` text NOT NULL,
	`sealed` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `signing_keys_purpose_unique` ON `signing_keys` (`purpose`);