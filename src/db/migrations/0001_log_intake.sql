-- One row written here becomes a row in `logs` and its bodies in `log_bodies`, under the number the database gave.
CREATE VIEW `log_intake` AS
  SELECT `logs`.`id`, `organisation_id`, `workspace_id`, `api_key_id`, `status`, `provider`, `model`, `trace_id`, `details`, `headers`, `request`, `response`
  FROM `logs` LEFT JOIN `log_bodies` ON `log_bodies`.`seq` = `logs`.`seq`;
--> statement-breakpoint
CREATE TRIGGER `log_intake_insert` INSTEAD OF INSERT ON `log_intake` BEGIN
  INSERT INTO `logs` (`id`, `organisation_id`, `workspace_id`, `api_key_id`, `status`, `provider`, `model`, `trace_id`, `details`)
  VALUES (NEW.`id`, NEW.`organisation_id`, NEW.`workspace_id`, NEW.`api_key_id`, NEW.`status`, NEW.`provider`, NEW.`model`, NEW.`trace_id`, NEW.`details`);
  INSERT INTO `log_bodies` (`seq`, `headers`, `request`, `response`) VALUES (last_insert_rowid(), NEW.`headers`, NEW.`request`, NEW.`response`);
END;
