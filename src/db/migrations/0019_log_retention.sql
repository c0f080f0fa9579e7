CREATE TABLE `log_hidden` (
	`organisation_id` text PRIMARY KEY NOT NULL,
	`first_id` text NOT NULL
);
