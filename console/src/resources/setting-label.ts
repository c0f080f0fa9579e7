import { nameOf } from "@/lib/words.ts";
import { text } from "@/text/text.ts";

const words = text.resources.settings;

/** First words of members that say the provider again. */
const vendors = /^(?:aws|azure|vertex|oracle|openai|anthropic|stability|snowflake|databricks|amzn_sagemaker|echo)_/;

/** Names of headers stay as they are. */
const headers = /^(?:custom|passthrough)_headers\./;

/** The name of a setting: `aws_region` as `Region`. */
export function labelOfSetting(path: string): string {
  if (headers.test(path)) return path.slice(path.indexOf(".") + 1);
  const name = path.slice(path.indexOf(".") + 1);
  return words.groups[path] ?? words.labels[path] ?? words.labels[name] ?? nameOf(name.replace(vendors, ""));
}
