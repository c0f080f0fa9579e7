import { checks } from "./de/checks.ts";
import { evals } from "./de/evals.ts";
import { modelRecords } from "./de/model-records.ts";
import { organisation } from "./de/organisation.ts";
import { otherRecords } from "./de/other-records.ts";
import { prompts } from "./de/prompts.ts";
import { requests } from "./de/requests.ts";
import { saved } from "./de/saved.ts";
import { shared } from "./de/shared.ts";
import { tools } from "./de/tools.ts";
import type { en } from "./en.ts";
import type { WordsOf } from "./words-of.ts";

/** Every word the console shows, in German. */
export const de: WordsOf<typeof en> = {
  ...shared,
  ...organisation,
  ...requests,
  ...prompts,
  ...checks,
  ...tools,
  ...saved,
  resources: { ...modelRecords, ...otherRecords, ...evals },
};
