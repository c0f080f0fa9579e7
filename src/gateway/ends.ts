import type { Services } from "../context.ts";
import { reportToConnection } from "../inference/call/finish.ts";
import { settleLimits } from "../inference/call/limits.ts";
import { logCall } from "../inference/call/log-sink.ts";
import { settleMeasure } from "../inference/pipeline/balancing.ts";
import { CopyQueue } from "../inference/shadow/copies.ts";
import { copyToShadow } from "../inference/shadow/shadow.ts";
import type { Redactor } from "../logs/redact.ts";
import { UnpricedCalls } from "../pricing/unpriced-calls.ts";
import { type GatewayOptions, warnOf } from "./options.ts";

/** What happens at the end of each request: its counts, its row, and the copy that it may leave. */
export function createEnds(
  options: GatewayOptions,
  redactor: Redactor,
  services: () => Services,
): Pick<Services, "copies" | "sinks" | "unpriced"> {
  return {
    copies: new CopyQueue(services),
    sinks: [
      { of: "measured", receive: settleMeasure },
      { of: "booking", receive: settleLimits },
      { receive: reportToConnection },
      { of: "shadow", receive: copyToShadow },
      { receive: logCall },
    ],
    unpriced: new UnpricedCalls((message) => warnOf(options)(redactor.text(message))),
  };
}
