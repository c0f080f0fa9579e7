import type { ControlStores } from "../../db/stores/control.ts";
import type { LimitAlertStore } from "../../db/stores/limit-alerts.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Outbound } from "../../lib/outbound.ts";
import type { Committer } from "../commit.ts";
import type { Vault } from "../vault.ts";
import type { SendMail } from "./messages.ts";
import type { Webhook } from "./webhook.ts";

/** How alerts of budgets are delivered. */
export interface AlertSettings {
  /** The operator's webhook, for organisations without their own. */
  webhook?: Webhook | undefined;
  /** Sends mails. Absent: none are sent. */
  sendMail?: SendMail | undefined;
  /** Time limit of one call of a webhook, in milliseconds. */
  timeoutMs: number;
  /** Milliseconds between two searches for alerts that other processes left, or that are to be tried again. */
  lookEveryMs: number;
}

/** What alerts are made from. */
export interface AlertParts extends AlertSettings {
  store: LimitAlertStore;
  stores: ControlStores;
  committer: Committer;
  vault: Pick<Vault, "open">;
  outbound: Outbound;
  clock: Clock;
  /** Receives a line for each alert. */
  log(line: string): void;
  warn(message: string, error?: unknown): void;
}
