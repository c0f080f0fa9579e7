CREATE INDEX `oauth_consents_client` ON `oauth_consents` (`client_id`);--> statement-breakpoint
CREATE INDEX `oauth_families_key` ON `oauth_families` (`key_id`);--> statement-breakpoint
UPDATE `api_keys` SET `scopes` = json_insert(`scopes`, '$[#]', 'organisation_mcp_identity.update') WHERE `kind` = 'organisation-service' AND EXISTS (SELECT 1 FROM json_each(`api_keys`.`scopes`) WHERE `value` = 'organisation_settings.update');
