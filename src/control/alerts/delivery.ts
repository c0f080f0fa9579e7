import type { DeliveryOutcome } from "../../db/stores/limit-alerts.ts";
import type { LimitAlertRow } from "../../db/tables/limits.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import { type AlertBody, toAlertBody, toLine, toMail } from "./messages.ts";
import type { AlertParts } from "./parts.ts";
import { createHolderReader, type HolderReader } from "./recipients.ts";
import { findWebhook, postToWebhook } from "./webhook.ts";

/** Time between two attempts, in milliseconds. After the last one an alert is given up. */
export const pausesMs = [10_000, 30_000, 120_000, 600_000, 1_800_000, 7_200_000, 21_600_000, 43_200_000];
/** A process that took alerts and is silent for this long has ended. */
const leaseMs = 120_000;
/** Longest time for the webhook of an organisation in one round; what is left comes in the next one. */
const roundMs = 30_000;
/** Alerts of an organisation in one round. */
const maxAlerts = 500;
/** Organisations that are served at the same time. */
const maxOrganisations = 16;
/** Most addresses of one mail. */
const maxAddresses = 100;
/** Time between two mails to the same recipients: alerts that come meanwhile share the next one. */
const mailPauseMs = 60_000;
/** Groups of recipients whose last mail is remembered. */
const maxMailed = 10_000;

/** State of one alert during a round. */
interface Item {
  readonly row: LimitAlertRow;
  readonly body: AlertBody;
  webhookSentAt: number | null;
  mailSentAt: number | null;
  /** Something failed: it is tried again after a pause. */
  hasFailed: boolean;
  /** Milliseconds after which what there was no time for goes on. */
  waitsMs: number | undefined;
}

/** Alerts with the same recipients. */
interface MailGroup {
  readonly to: readonly string[];
  readonly items: Item[];
}

/** An error on one line: it may quote what a server said. */
export function messageOf(error: unknown): string {
  return toLine(error instanceof Error ? error.message : String(error));
}

function wait(items: readonly Item[], milliseconds: number): void {
  for (const item of items) item.waitsMs = milliseconds;
}

function fail(items: readonly Item[]): void {
  for (const item of items) item.hasFailed = true;
}

async function groupByRecipients(items: readonly Item[], reader: HolderReader): Promise<MailGroup[]> {
  const groups = new Map<string, MailGroup>();
  for (const item of items) {
    const to = await reader.recipientsOf(item.row);
    const group = groups.get(to.join()) ?? { to, items: [] };
    groups.set(to.join(), group);
    group.items.push(item);
  }
  return [...groups.values()];
}

/** Whether another process may have taken an alert: this one was paused, or a call took very long. */
function isLost({ row }: Item, now: number): boolean {
  return now >= (row.nextAttemptAt ?? 0);
}

/** What is stored of an attempt. */
function toOutcome({ row, webhookSentAt, mailSentAt, hasFailed, waitsMs }: Item, now: number): DeliveryOutcome {
  const { id, attempts, nextAttemptAt } = row;
  const sent = { id, webhookSentAt, mailSentAt, takenUntil: nextAttemptAt ?? 0 };
  const pauseMs = hasFailed ? pausesMs[attempts - 1] : undefined;
  // only failures count
  if (waitsMs !== undefined) {
    const counted = hasFailed ? attempts : attempts - 1;
    return { ...sent, attempts: counted, nextAttemptAt: now + Math.min(waitsMs, pauseMs ?? waitsMs) };
  }
  return { ...sent, attempts, nextAttemptAt: pauseMs === undefined ? null : now + pauseMs };
}

/**
 * Delivers alerts to webhooks and by mail. An organisation is served by one round at a time, so one whose webhook hangs
 * delays no other.
 */
export class Deliverer {
  readonly #parts: AlertParts;
  /** Ends running calls. */
  readonly #signal: AbortSignal;
  /** Rounds by their organisation. */
  readonly #running = new Map<string, Promise<void>>();
  /** Monotonic milliseconds of the last mail to some recipients of an organisation. */
  readonly #mailed = new BoundedMap<string, number>(maxMailed);

  constructor(parts: AlertParts, signal: AbortSignal) {
    this.#parts = parts;
    this.#signal = signal;
  }

  /**
   * Begins to deliver what is due, of all organisations.
   *
   * @param ended Called when a round has ended: there may be more to do.
   * @throws If the database is away.
   */
  async deliverDue(ended: () => void): Promise<void> {
    const { store, clock, warn } = this.#parts;
    while (!this.#signal.aborted && this.#running.size < maxOrganisations) {
      const now = clock.now();
      const organisationId = await store.nextDue(now, [...this.#running.keys()]);
      if (organisationId === undefined) return;
      const rows = await store.claim(organisationId, { now, until: now + leaseMs, limit: maxAlerts });
      const round = this.#deliver(organisationId, rows)
        // what was taken is tried again later
        .catch((error) => warn(`Cannot deliver alerts of organisation ${organisationId} now`, error))
        .finally(() => {
          this.#running.delete(organisationId);
          ended();
        });
      this.#running.set(organisationId, round);
    }
  }

  /** Whether no round runs. */
  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** Resolves when the rounds that run now have ended. */
  async settle(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  /** Delivers alerts of one organisation, as far as there is a webhook and mail. */
  async #deliver(organisationId: string, rows: readonly LimitAlertRow[]): Promise<void> {
    const { stores, store, clock, warn } = this.#parts;
    const reader = createHolderReader(stores, organisationId);
    const items: Item[] = [];
    for (const row of rows) {
      const { name } = await reader.holderOf(row);
      const { webhookSentAt, mailSentAt } = row;
      const body = toAlertBody(row, name);
      items.push({ row, body, webhookSentAt, mailSentAt, hasFailed: false, waitsMs: undefined });
    }
    await this.#mailAll(items, reader);
    await this.#postAll(items, organisationId);
    const now = clock.now();
    const outcomes = items.map((item) => toOutcome(item, now));
    await store.settle(outcomes);
    const lost = items.filter(({ hasFailed }, index) => hasFailed && outcomes[index]?.nextAttemptAt === null);
    if (lost.length > 0) warn(`Gave up ${lost.length} alerts of organisation ${organisationId}: no attempt succeeded`);
  }

  /** Mails the alerts that still need it: those with the same recipients share a mail. */
  async #mailAll(items: readonly Item[], reader: HolderReader): Promise<void> {
    const { sendMail, stores, clock } = this.#parts;
    const waiting = items.filter(({ mailSentAt }) => mailSentAt === null);
    if (!sendMail || waiting.length === 0) return;
    const { organisationId } = reader;
    const organisation = (await stores.organisations.get(organisationId))?.name ?? organisationId;
    for (const group of await groupByRecipients(waiting, reader)) {
      if (group.items.some((item) => isLost(item, clock.now()))) return wait(waiting, 0);
      const key = JSON.stringify([organisationId, group.to]);
      const pauseMs = (this.#mailed.peek(key) ?? Number.NEGATIVE_INFINITY) + mailPauseMs - clock.monotonic();
      if (pauseMs > 0) wait(group.items, pauseMs);
      else if (await this.#mail(group, { id: organisationId, name: organisation })) {
        this.#mailed.set(key, clock.monotonic());
      }
    }
  }

  /** @returns Whether the mail was sent. */
  async #mail({ to, items }: MailGroup, organisation: { id: string; name: string }): Promise<boolean> {
    const { sendMail, clock, warn } = this.#parts;
    const bodies = items.map(({ body }) => body);
    try {
      for (let from = 0; from < to.length; from += maxAddresses) {
        const mail = toMail(bodies, organisation.name, to.slice(from, from + maxAddresses));
        const refused = (await sendMail?.(mail, this.#signal)) ?? 0;
        if (refused > 0) warn(`The mail server refused ${refused} addresses of organisation ${organisation.id}`);
      }
      for (const item of items) item.mailSentAt = clock.now();
      return true;
    } catch (error) {
      if (this.#signal.aborted) wait(items, 0);
      else {
        fail(items);
        warn(`Cannot mail alerts of organisation ${organisation.id}: ${messageOf(error)}`);
      }
      return false;
    }
  }

  /** Posts the alerts that still need it, one after the other, until one fails. */
  async #postAll(items: readonly Item[], organisationId: string): Promise<void> {
    const { clock, warn, timeoutMs, outbound, webhook: ofOperator } = this.#parts;
    const signal = this.#signal;
    const waiting = items.filter(({ webhookSentAt }) => webhookSentAt === null);
    const deadline = performance.now() + roundMs;
    try {
      const webhook = await findWebhook(this.#parts, organisationId, ofOperator);
      if (!webhook) return;
      for (const [index, item] of waiting.entries()) {
        const isLate = signal.aborted || performance.now() > deadline || isLost(item, clock.now());
        if (isLate) return wait(waiting.slice(index), 0);
        await postToWebhook(webhook, JSON.stringify(item.body), { outbound, timeoutMs, now: clock.now(), signal });
        item.webhookSentAt = clock.now();
      }
    } catch (error) {
      const unsent = waiting.filter(({ webhookSentAt }) => webhookSentAt === null);
      if (signal.aborted) return wait(unsent, 0);
      fail(unsent);
      // the address may be a secret: no message names it
      warn(`Cannot send alerts to the webhook of organisation ${organisationId}: ${messageOf(error)}`);
    }
  }
}
