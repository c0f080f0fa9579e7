import type { Services } from "../../context.ts";
import { messageOf, pausesMs } from "../../control/alerts/delivery.ts";
import type { AlertSettings } from "../../control/alerts/parts.ts";
import { toBody, toRuleMail } from "../../control/alerts/rule-messages.ts";
import { postToWebhook } from "../../control/alerts/webhook.ts";
import { LeasedRunner } from "../../control/leased-runner.ts";
import { isConflict } from "../../db/client.ts";
import type { AlertRuleStore } from "../../db/stores/alert-rules.ts";
import type { AlertEventRow, AlertRuleRow } from "../../db/tables/alert-rules.ts";
import type { Destination } from "../../schemas/alert-rules.ts";
import { maskDestination, openDestinations } from "./destinations.ts";
import { evaluateRule } from "./evaluate.ts";

/** Rules and events that a process works on at once; at most half of them belong to one organisation. */
const atOnce = 4;
/** A rule that cannot be evaluated now is evaluated after this long, in milliseconds. */
const laterMs = 30_000;
/** Events are removed after this long. */
const storedForMs = 90 * 24 * 60 * 60_000;

/** What the runners are made from. */
interface AlertRunnerOptions {
  readonly services: Services;
  readonly store: AlertRuleStore;
  readonly settings: AlertSettings;
  warn(message: string, error: unknown): void;
}

/** Evaluates rules, each by one process at a time. */
class RuleRunner extends LeasedRunner<AlertRuleRow> {
  readonly #options: AlertRunnerOptions;

  constructor(options: AlertRunnerOptions) {
    const { services, store, settings, warn } = options;
    const nouns = { one: "an alert rule", many: "alert rules" };
    super({ store: store.rules, clock: services.clock, warn, nouns, atOnce, lookEveryMs: settings.lookEveryMs });
    this.#options = options;
  }

  protected async work(row: AlertRuleRow): Promise<void> {
    const { services, store } = this.#options;
    await store.evaluated(row, this.owner, await evaluateRule(row, services));
  }

  protected async putBack(row: AlertRuleRow, error: unknown): Promise<void> {
    // another process has the rule, or it was deleted
    if (isConflict(error)) return;
    const { warn, store } = this.#options;
    warn(`Cannot evaluate the alert rule ${row.id} now`, error);
    await store.rules.renew(row, this.lease(laterMs)).catch(() => {});
  }
}

/** What distinguishes a destination of a rule, without its secret. */
const nameOf = (destination: Destination, index: number): string =>
  JSON.stringify([index, maskDestination(destination)]);

/** Delivers events, each by one process at a time. */
class EventRunner extends LeasedRunner<AlertEventRow> {
  readonly #options: AlertRunnerOptions;

  constructor(options: AlertRunnerOptions) {
    const { services, store, settings, warn } = options;
    const nouns = { one: "an alert", many: "alerts" };
    const { lookEveryMs } = settings;
    const purge = (now: number) => store.purge(now - storedForMs);
    super({ store: store.events, clock: services.clock, warn, nouns, atOnce, lookEveryMs, purge });
    this.#options = options;
  }

  protected async work(row: AlertEventRow, signal: AbortSignal): Promise<void> {
    const { services, store } = this.#options;
    const destinations = await openDestinations({ ...row, id: row.ruleId }, services.control);
    const sent = [...row.sent];
    let problem: string | null = null;
    for (const [index, destination] of destinations.entries()) {
      const name = nameOf(destination, index);
      if (sent.includes(name)) continue;
      if (signal.aborted) {
        problem = "the gateway stopped";
        break;
      }
      try {
        await this.#send(row, destination, signal);
        sent.push(name);
      } catch (error) {
        // the address may be a secret: no message names it
        problem = `${destination.type}: ${messageOf(error)}`;
      }
    }
    await store.delivered(row, this.owner, this.#outcome(row, sent, problem));
  }

  /** What is stored of an attempt: after the last one an event is given up. */
  #outcome({ attempts }: AlertEventRow, sent: string[], problem: string | null) {
    const pauseMs = problem === null ? undefined : pausesMs[attempts];
    const nextAttemptAt = pauseMs === undefined ? null : this.#options.services.clock.now() + pauseMs;
    return { sent, problem, attempts: attempts + 1, nextAttemptAt };
  }

  async #send(row: AlertEventRow, { type, url, secret, to }: Destination, signal: AbortSignal): Promise<void> {
    const { settings, services } = this.#options;
    if (type === "email") {
      if (!settings.sendMail) throw new Error("the gateway has no mail server (SMTP_URL)");
      await settings.sendMail(toRuleMail(row, to ?? []), signal);
      return;
    }
    const body = JSON.stringify(toBody(row, type));
    const { outbound, clock } = services;
    const options = { outbound, timeoutMs: settings.timeoutMs, now: clock.now(), signal };
    await postToWebhook({ url: url ?? "", secret, origin: "influenced" }, body, options);
  }

  /** Its destinations cannot be read, or the database is away. */
  protected async putBack(row: AlertEventRow, error: unknown): Promise<void> {
    const { warn, store } = this.#options;
    warn(`Cannot deliver the alert ${row.id} now`, error);
    const problem = "its destinations cannot be read";
    await store.delivered(row, this.owner, this.#outcome(row, row.sent, problem)).catch(() => {});
  }
}

/** Evaluates alert rules and delivers what they find, in the background. */
export interface AlertRunner {
  /** Starts nothing more, waits this many milliseconds, then ends running calls. */
  stop(timeoutMs: number): Promise<void>;
}

/** Creates the runners of a process and starts them. */
export function createAlertRunner(options: AlertRunnerOptions): AlertRunner {
  const runners = [new RuleRunner(options), new EventRunner(options)];
  for (const runner of runners) runner.start();
  return {
    async stop(timeoutMs) {
      await Promise.all(runners.map((runner) => runner.stop(timeoutMs)));
    },
  };
}
