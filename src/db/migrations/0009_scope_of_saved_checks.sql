UPDATE `guardrail_versions` SET `content` = json_set(`content`, '$.checks', json((
  SELECT json_group_array(json(CASE
    WHEN `one`.`type` <> 'object' THEN json_quote(`one`.`value`)
    WHEN json_type(`one`.`value`, '$.parameters.scope') IS NOT NULL THEN `one`.`value`
    ELSE json_set(`one`.`value`, '$.parameters', json(json_set(
      CASE json_type(`one`.`value`, '$.parameters') WHEN 'object' THEN json_extract(`one`.`value`, '$.parameters') ELSE '{}' END,
      '$.scope', 'last'
    )))
  END))
  FROM json_each(`guardrail_versions`.`content`, '$.checks') AS `one`
))) WHERE json_valid(`content`) AND json_type(`content`, '$.checks') = 'array';
