// Pages of the console as admin, manager and member, and what they show and call.

import type { Locator } from "playwright-core";
import { keyOf } from "./data.ts";
import type { Viewer } from "./role-rows.ts";
import type { ConsolePage, ConsoleStand } from "./support.ts";

/** An open page of each viewer. */
export type Viewers = Readonly<Record<Viewer, ConsolePage>>;

/** Signs in each viewer; the admin works in the workspace `default`. */
export async function signInAll(stand: ConsoleStand): Promise<Viewers> {
  const admin = await stand.signIn(stand.gateway.adminKey);
  await admin.open("/api-keys");
  await admin.page.getByLabel("Workspace", { exact: true }).first().click();
  await admin.page.getByRole("option", { name: "default" }).click();
  const manager = await stand.signIn(await keyOf(stand, "manager"));
  return { admin, manager, member: await stand.signIn(await keyOf(stand, "member")) };
}

/** What leads from the open record to its form. */
export const editLink = ({ page }: ConsolePage): Locator =>
  page.getByRole("main").getByRole("link", { name: "Edit", exact: true });

/** What deletes the open record. */
export const deleteButton = ({ page }: ConsolePage): Locator =>
  page.getByRole("main").getByRole("button", { name: "Delete", exact: true });

/** Status of a call that the open page makes with its session. */
export function callAs({ page }: ConsolePage, row: string, body?: object): Promise<number> {
  const [method = "GET", path = ""] = row.split(" ");
  return page.evaluate(
    async ({ method, path, body }) => {
      const session = await (await fetch("/console/session")).json();
      const headers = { "x-gateway-csrf": session.csrf_token, "content-type": "application/json" };
      const response = await fetch(path, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
      await response.text();
      return response.status;
    },
    { method, path, body },
  );
}

/** Refusals that the open page shows. */
export const failuresOf = ({ page }: ConsolePage): Promise<string[]> =>
  page.getByRole("alert").filter({ hasText: "The request failed" }).allTextContents();

/** Waits until nothing of the open page loads. */
export async function settle({ page }: ConsolePage): Promise<void> {
  await page.waitForLoadState("networkidle");
  const loading = page.getByRole("status", { name: "Loading" });
  while ((await loading.count()) > 0) await loading.first().waitFor({ state: "detached" });
}
