import type { AutoRecord } from "../../context/call-record.ts";
import type { ConfigNode } from "../../routing/config.ts";
import type { Plan } from "../../routing/plan.ts";
import { listLeaves, storedNameOf } from "../target/config-target.ts";
import { withTargetModel } from "../target/named-config.ts";
import type { RequestConfig } from "../target/saved-config.ts";
import { priceListOf } from "../target/stored-provider.ts";
import { modelOfLeaf } from "./model-fit.ts";

/** The model of the first call that a target could make, and its prices. */
function readLargest(target: ConfigNode, request: object, { view }: RequestConfig): AutoRecord["largest"] | undefined {
  const [leaf] = listLeaves(target);
  if (!leaf) return undefined;
  const stored = view.providers.get(storedNameOf(leaf)?.slug ?? "");
  const provider = stored?.integration.aiProviderId ?? leaf.provider ?? "";
  const model = modelOfLeaf(leaf, request);
  return { provider, model: model === "" ? null : model, prices: stored ? priceListOf(stored) : null };
}

/** What the outermost group decided by what is in the request, for the log row; null without such a group. */
export function toAutoRecord({ auto }: Plan, request: object, config: RequestConfig): AutoRecord | null {
  const [choice] = auto;
  const largest = choice && readLargest(choice.largest, withTargetModel(request, config), config);
  if (!choice || !largest) return null;
  const { label, target, by, reason } = choice;
  return { label, target, by, reason, largest };
}
