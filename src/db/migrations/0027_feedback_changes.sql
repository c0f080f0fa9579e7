ALTER TABLE `feedback` ADD `change` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `feedback_by_change` ON `feedback` (`organisation_id`,`change`);--> statement-breakpoint
UPDATE `feedback` SET `change` = rowid;--> statement-breakpoint
CREATE TRIGGER `feedback_added` AFTER INSERT ON `feedback` BEGIN UPDATE `feedback` SET `change` = max(cast(unixepoch('subsec') * 1000 AS integer), 1 + (SELECT max(`change`) FROM `feedback` WHERE `organisation_id` = NEW.`organisation_id`)) WHERE rowid = NEW.rowid; END;--> statement-breakpoint
CREATE TRIGGER `feedback_changed` AFTER UPDATE OF `value`, `weight` ON `feedback` BEGIN UPDATE `feedback` SET `change` = max(cast(unixepoch('subsec') * 1000 AS integer), 1 + (SELECT max(`change`) FROM `feedback` WHERE `organisation_id` = NEW.`organisation_id`)) WHERE rowid = NEW.rowid; END;
