import { checks } from "./en/checks.ts";
import { evals } from "./en/evals.ts";
import { modelRecords } from "./en/model-records.ts";
import { organisation } from "./en/organisation.ts";
import { otherRecords } from "./en/other-records.ts";
import { prompts } from "./en/prompts.ts";
import { requests } from "./en/requests.ts";
import { saved } from "./en/saved.ts";
import { shared } from "./en/shared.ts";
import { tools } from "./en/tools.ts";

// A member may be a function where words depend on a value. Sections are those of the pages; what several pages share stands
// in `common`.

/** Every word the console shows, in English. */
export const en = {
  ...shared,
  ...organisation,
  ...requests,
  ...prompts,
  ...checks,
  ...tools,
  ...saved,
  resources: { ...modelRecords, ...otherRecords, ...evals },
} as const;
